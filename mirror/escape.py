"""A fact's text <-> one line of markdown that renders as that text, on GitHub's cmark-gfm and on markdown-it.

Escaped is only what would render as something else, so identifiers stay findable with grep and diffs stay
readable; backslashing everything was measured to let live HTML through on GitHub, whose bare-URL links swallow
the backslash behind them. What cannot be seen (controls, bidi, zero-width) is shown as ``⟨U+202E⟩``.

``unescape(escape(text)) == keys.fold(text)`` for every text.
"""

from __future__ import annotations

import re

from mirror.keys import fold
from mirror.textfile import HIDDEN

_PUNCTUATION = r"""!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~"""
_INVISIBLE = re.compile(f"{HIDDEN}|⟨(?=U\\+)")
_VISIBLE = re.compile(r"⟨U\+([0-9A-F]{4,6})⟩")
_URL = re.compile(r"(?:https?|ftp)://[^\s<>]*", re.IGNORECASE)
# Inside <...> markdown-it decodes percent codes, cmark decodes entities: such URLs are written with \: instead.
_PLAIN_URL = re.compile(
    r"[A-Za-z]+://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]+)?"
    r"(?:[/?#](?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]*[A-Za-z0-9\-_~:/?#@$&*+=])?)?"
)
_SCHEME = re.compile(r"(?:https?|ftp)(?=://)|(?:mailto|xmpp)(?=:)|www(?=\.)", re.IGNORECASE)
_SPAN = re.compile(r"(?<!`)`(?!`)([^`]+)`(?!`)")
# The [x] too: cmark-gfm ticks the box of an item that holds one anywhere on its line.
_LINKS = re.compile(r"\[[xX]\]|\]\(|\]\[|\[\[|\]:|\[\^|\A\[|!\[")
_ENTITY = re.compile(r"&(?=#?[0-9A-Za-z]+;)")
_START = re.compile(r"(?:#{1,6}|[-+*])(?= |\Z)|>|(?:[-_*=] ?){3,}\Z|[-+*](?=[-+*])|=|\|")
_ORDERED = re.compile(r"(\d{1,9})([.)])(?= |\Z)")
_BACKSLASH = re.compile(rf"\\(?=[{_PUNCTUATION}]|\Z)")
_UNESCAPE = re.compile(rf"\\([{_PUNCTUATION}])|<((?:https?|ftp)://[^\s<>]*)>", re.IGNORECASE)
# What a sentence rarely holds: without any of these, only its start and bare addresses can be markdown.
_SPECIAL = re.compile(r"[\\`*_\[\]<>&~$]")
_MARKUP = re.compile(r"_+|[\\`*\[\]<&~$]")


def visible(text: str) -> str:
    """Hidden characters as ``⟨U+XXXX⟩``; a literal ``⟨U+`` too, so that it can be read back."""
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text)


def invisible(text: str) -> str:
    """The inverse of :func:`visible`."""
    return _VISIBLE.sub(lambda m: chr(int(m[1], 16)) if int(m[1], 16) < 0x110000 else m[0], text)


def escape(text: str, *, struck: bool = False) -> str:
    """One line of markdown. ``struck``: it will stand between ``~~``."""
    shown = visible(fold(text))
    if not _SPECIAL.search(shown):
        line = _plain(shown, _NOTHING, " ", " ", last=True) if "://" in shown else _break_schemes(shown)
        return _start(line, shown)
    spans = _spans(shown)
    rest = "".join(piece for piece, code in spans if not code)
    rules = _Rules(
        brackets=("[" in rest or "]" in rest) and _LINKS.search(rest) is not None,
        tildes=struck or rest.count("~") > 1,
        dollars=rest.count("$") > 1 or shown.count("$") > 1,
        backticks=all(not code for _, code in spans),
    )
    out: list[str] = []
    for position, (piece, code) in enumerate(spans):
        if code:
            out.append(piece)
            continue
        before = spans[position - 1][0][-1] if position else " "
        after = spans[position + 1][0][0] if position + 1 < len(spans) else " "
        out.append(_plain(piece, rules, before, after, last=position + 1 == len(spans)))
    return _start("".join(out), shown)


class _Rules:
    __slots__ = ("backticks", "brackets", "dollars", "tildes")

    def __init__(self, *, brackets: bool, tildes: bool, dollars: bool, backticks: bool) -> None:
        self.brackets = brackets
        self.tildes = tildes
        self.dollars = dollars
        self.backticks = backticks


_NOTHING = _Rules(brackets=False, tildes=False, dollars=False, backticks=False)


def _spans(text: str) -> list[tuple[str, bool]]:
    """(piece, is a code span) where every backtick of the text belongs to a simple span; else one piece."""
    if "`" not in text or "<!--" in text or "[x]" in text.lower():
        # Nothing stands unescaped that looks like the comment behind a fact, in a code span neither.
        return [(text, False)]
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in _SPAN.finditer(text):
        inner = match[1]
        if (
            inner != inner.strip(" ")
            or "$" in inner
            or (match.start() > 0 and text[match.start() - 1] == "\\")
        ):
            return [(text, False)]
        if match.start() > at:
            pieces.append((text[at : match.start()], False))
        pieces.append((match[0], True))
        at = match.end()
    if at < len(text):
        pieces.append((text[at:], False))
    loose = any("`" in piece for piece, code in pieces if not code)
    # A URL that is written <...> may not hold half of a span, and must not swallow one.
    return [(text, False)] if loose else pieces


def _plain(piece: str, rules: _Rules, before: str, after: str, *, last: bool) -> str:
    if "://" not in piece:
        return _words(piece, rules, before, after, last=last)
    out: list[str] = []
    at = 0
    for match in _URL.finditer(piece):
        url = match[0]
        plain = _PLAIN_URL.match(url)
        if (
            plain is None
            or _ENTITY.search(plain[0])
            or "xn--" in plain[0].lower()
            or (rules.tildes and "~" in plain[0])
        ):
            continue
        out.append(_words(piece[at : match.start()], rules, before if at == 0 else " ", "<", last=False))
        out.append(f"<{plain[0]}>")
        at = match.start() + plain.end()
    out.append(_words(piece[at:], rules, before if at == 0 else ">", after, last=last))
    return "".join(out)


def _words(text: str, rules: _Rules, before: str, after: str, *, last: bool) -> str:
    if not text:
        return ""

    def escaped(match: re.Match[str]) -> str:
        found = match[0]
        char = found[0]
        start, end = match.span()
        if char == "_":
            previous = text[start - 1] if start else before
            following = text[end] if end < len(text) else after
            return found if previous.isalnum() and following.isalnum() else "\\_" * len(found)
        if char == "[" or char == "]":
            return f"\\{char}" if rules.brackets else char
        if char == "`":
            return "\\`" if rules.backticks else char
        if char == "~":
            return "\\~" if rules.tildes else char
        if char == "$":
            return "\\$" if rules.dollars else char
        if char == "&":
            return "\\&" if _ENTITY.match(text, start) else char
        following = text[end] if end < len(text) else after
        if char == "*":
            previous = text[start - 1] if start else before
            return "*" if previous == " " and following == " " else "\\*"
        if char == "<":
            return "\\<" if following.isalpha() or following in "/!?<" else char
        return "\\\\" if following in _ASCII_PUNCTUATION or (last and end == len(text)) else "\\"

    return _break_schemes(_MARKUP.sub(escaped, text))


_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _break_schemes(text: str) -> str:
    """What GitHub links without being asked."""
    if ":" in text or "www." in text.lower():
        return _SCHEME.sub(lambda match: f"{match[0]}\\", text)
    return text


def _start(line: str, shown: str) -> str:
    """What would start a block, at the start only."""
    if match := _ORDERED.match(shown):
        return f"{match[1]}\\{line[len(match[1]) :]}"
    if _START.match(shown) and not line.startswith("\\"):
        return f"\\{line}"
    return line


def unescape(line: str) -> str:
    """The folded text of a line that :func:`escape` wrote."""
    out: list[str] = []
    at = 0
    for piece, code in _written_spans(line):
        out.append(piece if code else _UNESCAPE.sub(lambda m: m[1] or m[2], piece))
        at += len(piece)
    return invisible("".join(out))


def _written_spans(line: str) -> list[tuple[str, bool]]:
    """As markdown reads it: a backtick that is not escaped opens a span that ends at the next one."""
    pieces: list[tuple[str, bool]] = []
    start = at = 0
    while at < len(line):
        char = line[at]
        if char == "\\" and at + 1 < len(line):
            at += 2
        elif char == "<" and (url := _UNESCAPE.match(line, at)):
            at = url.end()
        elif char == "`":
            end = line.find("`", at + 1)
            if end < 0:
                break
            pieces += [(line[start:at], False), (line[at : end + 1], True)]
            start = at = end + 1
        else:
            at += 1
    pieces.append((line[start:], False))
    return pieces
