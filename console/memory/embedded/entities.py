"""Names in a fact: what is quoted, written as code, a path, a handle, an identifier or capitalised."""

from __future__ import annotations

import re

MOST = 12
_LONGEST = 60

_CODE = re.compile(r"`([^`\n]{2,60})`")
_QUOTED = re.compile(r"[\"“«「『]([^\"”»」』\n]{2,60})[\"”»」』]")
_HANDLE = re.compile(r"(?<![\w@])@[A-Za-z][\w-]{1,38}")
_PATH = re.compile(
    r"(?<![\w/.])(?:[~.]{0,2}/)?(?:[\w.@-]+/)+[\w.@-]*[\w]|(?<![\w/])[\w-]+\.(?:py|js|ts|md|toml|yaml|yml|json|sql|rs|go|sh|txt|cfg|ini|html|css|c|h|java|rb|lock)\b"
)
_IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[A-Z]{2,}[A-Z0-9]*(?:-\d+)?)\b"
)
_NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][\w’'-]*\w(?:\s+(?:[A-ZÀ-ÖØ-Þ][\w’'-]*\w|\d+(?:\.\d+)*))*")
_URL = re.compile(r"https?://\S+")
_OPENERS = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "i",
        "we",
        "you",
        "he",
        "she",
        "it",
        "they",
        "there",
        "here",
        "what",
        "which",
        "who",
        "when",
        "where",
        "why",
        "how",
        "if",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "to",
        "of",
        "with",
        "without",
        "after",
        "before",
        "during",
        "since",
        "until",
        "and",
        "or",
        "but",
        "so",
        "as",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "don't",
        "not",
        "no",
        "yes",
        "please",
        "my",
        "our",
        "your",
        "his",
        "her",
        "its",
        "their",
        "all",
        "any",
        "some",
        "each",
        "every",
        "both",
        "more",
        "most",
        "now",
        "then",
        "also",
        "only",
        "just",
        "never",
        "always",
        "use",
        "run",
        "set",
        "see",
        "add",
        "make",
        "let",
        "note",
        "todo",
        "fixed",
        "because",
        "while",
        "once",
    ]
)


def entities(text: str) -> tuple[str, ...]:
    """Distinct without case, in order of appearance, at most ``MOST``."""
    found: list[tuple[int, str]] = []
    bare = _URL.sub(lambda match: " " * len(match[0]), text)
    for pattern in (_CODE, _QUOTED):
        found += [(match.start(), match[1].strip()) for match in pattern.finditer(bare)]
        bare = pattern.sub(lambda match: " " * len(match[0]), bare)
    for pattern in (_HANDLE, _PATH, _IDENTIFIER):
        found += [(match.start(), match[0]) for match in pattern.finditer(bare)]
        bare = pattern.sub(lambda match: " " * len(match[0]), bare)
    found += list(_names(bare))
    distinct: dict[str, str] = {}
    for _, name in sorted(found):
        if 1 < len(name) <= _LONGEST:
            distinct.setdefault(name.casefold(), name)
    return tuple(distinct.values())[:MOST]


def _names(text: str) -> list[tuple[int, str]]:
    names = []
    first = len(text) - len(text.lstrip(" \"'(*_-"))
    for match in _NAME.finditer(text):
        words = match[0].split()
        start = match.start()
        while words and words[0].lower() in _OPENERS:
            start += len(words[0]) + 1
            words = words[1:]
        # a single capitalised word that opens the sentence says nothing: every sentence has one
        if not words or (len(words) == 1 and match.start() <= first and start == match.start()):
            continue
        names.append((start, " ".join(words)))
    return names
