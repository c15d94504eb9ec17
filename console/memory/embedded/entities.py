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
_PATTERNS = (
    (re.compile("`"), _CODE),
    (re.compile('["“«「『]'), _QUOTED),
    (re.compile("@"), _HANDLE),
    (re.compile(r"/|\.[a-z]"), _PATH),
    (re.compile("_|[a-z0-9][A-Z]|[A-Z][A-Z]"), _IDENTIFIER),
)
"""What must occur for the pattern to match at all (most facts have none of it), and the pattern."""
_URL = re.compile(r"https?://\S+")
_OPENERS = frozenset(
    "a an the this that these those i we you he she it they there here what which who when where why how "
    "if in on at by for from to of with without after before during since until and or but so as is are "
    "was were do does did don't not no yes please my our your his her its their all any some each every "
    "both more most now then also only just never always use run set see add make let note todo fixed "
    "because while once ask tell call write edit move check read open start stop try keep put take give "
    "go".split()
)


def entities(text: str) -> tuple[str, ...]:
    """Distinct without case, in order of appearance, at most ``MOST``."""
    found: list[tuple[int, str]] = []
    bare = _URL.sub(_blanked, text) if "://" in text else text
    for hint, pattern in _PATTERNS:
        if hint.search(bare) is None:
            continue
        matches = list(pattern.finditer(bare))
        found += [(match.start(), match[match.lastindex or 0].strip()) for match in matches]
        if matches:
            bare = pattern.sub(_blanked, bare)
    found += list(_names(bare))
    distinct: dict[str, str] = {}
    for _, name in sorted(found):
        if 1 < len(name) <= _LONGEST:
            distinct.setdefault(name.casefold(), name)
    return tuple(distinct.values())[:MOST]


def _blanked(match: re.Match[str]) -> str:
    """What was taken is not taken again; the offsets stay."""
    return " " * len(match[0])


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
