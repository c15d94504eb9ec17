"""Tags as stored, and the five ways to match them.

| mode       | needs        | untagged rows                                      |
|------------|--------------|----------------------------------------------------|
| any        | one of them  | included                                           |
| all        | every one    | included                                           |
| any_strict | one of them  | not                                                |
| all_strict | every one    | not                                                |
| exact      | the same set | only when no tags are given, and then only those   |

Without tags every mode but ``exact`` filters nothing. Case counts; a tag is literal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from console.memory.embedded.codec import to_json
from console.memory.errors import InvalidInput

MODES = ("any", "all", "any_strict", "all_strict", "exact")


def stored(tags: Iterable[str]) -> str:
    """Sorted, distinct, JSON: equal sets are equal strings."""
    return to_json(sorted(set(tags)))


def condition(column: str, tags: Sequence[str], mode: str) -> tuple[str, list[object]]:
    """A SQL condition and its parameters; ``''`` where nothing is filtered. Raises InvalidInput for a bad mode."""
    if mode not in MODES:
        raise InvalidInput(f"unknown tags_match {mode!r}", hint="one of " + ", ".join(MODES))
    wanted = sorted(set(tags))
    if mode == "exact":
        return f"{column} = ?", [stored(wanted)]
    if not wanted:
        return "", []
    marks = ", ".join("?" * len(wanted))
    if mode.startswith("any"):
        test = f"EXISTS (SELECT 1 FROM json_each({column}) WHERE value IN ({marks}))"
        values: list[object] = [*wanted]
        if len(wanted) == 1:
            # rows without the tag's JSON are most rows, and this is much faster than reading the list
            test, values = f"(instr({column}, ?) AND {test})", [to_json(wanted[0]), *values]
    else:
        test = f"(SELECT count(DISTINCT value) FROM json_each({column}) WHERE value IN ({marks})) = ?"
        values = [*wanted, len(wanted)]
    if not mode.endswith("_strict"):
        test = f"({column} = '[]' OR {test})"
    return test, values


def group(column: str, node: Any) -> tuple[str, list[object]]:
    """One of Hindsight's tag groups: ``{tags, match="any_strict"}``, ``{and: [...]}``, ``{or: [...]}`` or ``{not: ...}``.

    Raises InvalidInput for anything else.
    """
    match node:
        case {"tags": [*names], **rest} if (
            all(isinstance(name, str) for name in names) and rest.keys() <= _LEAF
        ):
            test, values = condition(column, names, str(rest.get("match", "any_strict")))
            return test or "1", values
        case {"and": [*parts]} | {"or": [*parts]} if parts and len(node) == 1:
            word = " AND " if "and" in node else " OR "
            tests = [group(column, part) for part in parts]
            return "(" + word.join(test for test, _ in tests) + ")", [
                v for _, values in tests for v in values
            ]
        case {"not": Mapping() as part} if len(node) == 1:
            test, values = group(column, part)
            return f"NOT {test}", values
    raise InvalidInput(
        f"this is no tag group: {node!r}",
        hint='use {"tags": [...], "match": ...}, {"and": [...]}, {"or": [...]} or {"not": ...}',
    )


_LEAF = frozenset({"match", "resolve"})
