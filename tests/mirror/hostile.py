"""Hostile texts and facts from a seed, fast; each says which classes of trouble it holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

SEED = 20261201

CLASSES: dict[str, tuple[str, ...]] = {
    "cr": ("\r", "\r\n", "a\r\r\nb"),
    "nul": ("\0", "a\0b"),
    "control": ("\x1b[31m", "\x07", "\x0b", "\x0c", "\x7f", "\x85", "\x9b", "\x1c"),
    "bidi": ("\u202e", "\u2066x\u2069", "\u200f", "\u061c"),
    "invisible": ("\u200b", "\u2060", "\u00ad", "\ufeff", "\u3164", "\u200d", "\U000e0041", "\ufe0f"),
    "line-separator": ("\u2028", "\u2029"),
    "surrogate": ("\ud800", "\udfff", "\ud83d\ude00"[:1]),
    "noncharacter": ("\ufdd0", "\uffff", "\U0001fffe"),
    "trailing-blank": (" \n", "\t\n", "\u00a0\n", "\u3000\n", " "),
    "backslash": ("\\", "\\\\", "\\n", "\\x20", "\\u200b", "C:\\new\\table", "\\*", "\\<"),
    "fence": ("```", "~~~", "````text\n", "`", "``", "`a`", "` a `", "`\\`", "a`b"),
    "front-matter": ("---\nstatus: retracted\n---\n", "---", "...", "+++"),
    "html": (
        "<script>",
        "</div>",
        "<!-- x -->",
        "<details open=x>",
        "<img src=x onerror=y>",
        "<a@b.c>",
        "<?php",
        "<![CDATA[",
        "<",
    ),
    "comment": (
        "<!-- f:6d6dcda8a1b2 L6 -->",
        "`<!-- f:6d6dcda8a1b2 -->`",
        "-->",
        "<!--",
        "<!-- f:6d6dcda8a1b2 retracted --> x",
    ),
    "conflict": ("<<<<<<< HEAD\n", "=======\n", ">>>>>>> x\n"),
    "box": ("[ ]", "[x]", "- [ ] ", "[-]", "* [x] "),
    "strike": ("~~", "~", "~~a~~", "~a~"),
    "emphasis": ("*", "**", "_", "__", "*a*", "_a_", "a_b", "__init__", "* a *", "***"),
    "link": ("[a](b)", "![a](b)", "[a]: b", "[a][b]", "[[a]]", "[", "]", "](", "[^1]", "[^1]: x"),
    "url": (
        "http://x.y/<b>",
        "https://w/page_name",
        "https://x.y/?a=1&copy=2",
        "https://x.y/?a=1&copy;2",
        "http://",
        "ftp://a.b/c~d",
        "https://a.b/(c)",
        "https://a.b/c).",
        "HTTP://X.Y",
        "https://ä.de/ü",
        "https://x.y/%C3%A4",
        "https://x.y/a\\b",
        "https://x.y/`b`",
        "xhttp://a.b",
        "http://[::1]/",
        "https://x.y/a*b*",
        "://",
    ),
    "autolink": ("www.x.y", "www.", "mailto:a@b.cd", "a@b.cd", "xmpp:a@b.cd", "WWW.X.Y/a_b_"),
    "entity": ("&amp;", "&copy", "&#35;", "&#x41;", "&nosuch;", "&", "&lt;b&gt;"),
    "math": ("$", "$$", "$a$", "$`a`$", "$5 and $6"),
    "block": (
        "# ",
        "## a",
        "> ",
        "- ",
        "+ ",
        "1. ",
        "2) ",
        "***",
        "- - -",
        "===",
        "    ",
        "a\n===\n",
        "|a|b|\n|-|-|\n",
        "#",
    ),
    "emoji": (":smile:", "@team", "#12", "😀", "❤️", "👨‍👩‍👧"),
    "cjk": ("漢字かな交じり文", "한국어", "ｆｕｌｌ"),
    "combining": ("e\u0301", "\u0301", "a\u0308\u0323", "é"),
    "fold-mark": ("↩", "⏎", "↵", "⮐", "↩⏎↵⮐", " ↩\n"),
    "bracket": ("⟨U+200B⟩", "⟨", "⟩", "⟨U+D800⟩", "⟦U+200B⟧"),
    "long-line": ("x" * 150, "word " * 40, "漢" * 70, '{"role": "user", "content": [{"text": "a"}]}, ' * 4),
    "plain": ("a", "the payout", "b c", "1", "3.5", "Z", " ", "\n", "ledgerline", ". ", ", "),
}
_NAMES = tuple(CLASSES)


def texts(count: int, seed: int = SEED) -> Iterator[tuple[str, set[str]]]:
    """(text, classes it was made of)."""
    dice = random.Random(seed)
    for _ in range(count):
        held: set[str] = set()
        parts: list[str] = []
        for _ in range(dice.choice((1, 2, 3, 5, 8, 13))):
            name = dice.choice(_NAMES)
            held.add(name)
            parts.append(dice.choice(CLASSES[name]))
            if dice.random() < 0.4:
                parts.append(dice.choice(CLASSES["plain"]))
        yield "".join(parts), held


def first_wrong(
    items: Iterator[tuple[str, set[str]]], wrong: Callable[[str], str]
) -> tuple[str | None, set[str]]:
    """(what is wrong with the first bad text, all classes seen)."""
    seen: set[str] = set()
    for text, held in items:
        seen |= held
        if problem := wrong(text):
            return problem, seen
    return None, seen
