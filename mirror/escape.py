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
_SPECIAL = re.compile(r"[\\`*_\[\]<>&~$:#+=|.\-]|\A[\d]|www", re.IGNORECASE)


def visible(text: str) -> str:
    """Hidden characters as ``⟨U+XXXX⟩``; a literal ``⟨U+`` too, so that it can be read back."""
    return _INVISIBLE.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", text)


def invisible(text: str) -> str:
    """The inverse of :func:`visible`."""
    return _VISIBLE.sub(lambda m: chr(int(m[1], 16)) if int(m[1], 16) < 0x110000 else m[0], text)


def escape(text: str, *, struck: bool = False) -> str:
    """One line of markdown. ``struck``: it will stand between ``~~``."""
    shown = visible(fold(text))
    if not _SPECIAL.search(shown):
        return shown
    spans = _spans(shown)
    rest = "".join(piece for piece, code in spans if not code)
    rules = _Rules(
        brackets=bool(_LINKS.search(rest)) or rest.startswith("["),
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
    out: list[str] = []
    size = len(text)
    for index, char in enumerate(text):
        previous = text[index - 1] if index else before
        following = text[index + 1] if index + 1 < size else after
        if char == "\\":
            end = last and index + 1 == size
            out.append("\\\\" if end or following in _ASCII_PUNCTUATION else "\\")
        elif char == "_":
            out.append("_" if _inside_word(text, index, before, after) else "\\_")
        elif char == "*":
            out.append("*" if previous == " " and following == " " else "\\*")
        elif char == "`" and rules.backticks:
            out.append("\\`")
        elif char in "[]" and rules.brackets:
            out.append(f"\\{char}")
        elif char == "~" and rules.tildes:
            out.append("\\~")
        elif char == "$" and rules.dollars:
            out.append("\\$")
        elif char == "<" and (following.isalpha() or following in "/!?<"):
            out.append("\\<")
        elif char == "&" and _ENTITY.match(text, index):
            out.append("\\&")
        else:
            out.append(char)
    return _SCHEME.sub(_break_scheme, "".join(out))


_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def _inside_word(text: str, index: int, before: str, after: str) -> bool:
    left = index
    while left > 0 and text[left - 1] == "_":
        left -= 1
    right = index + 1
    while right < len(text) and text[right] == "_":
        right += 1
    one = text[left - 1] if left else before
    other = text[right] if right < len(text) else after
    return one.isalnum() and other.isalnum()


def _break_scheme(match: re.Match[str]) -> str:
    return f"{match[0]}\\"


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
