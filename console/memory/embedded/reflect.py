"""Reflect without a model: the best facts for a question, grouped by document, each cited. It says so."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from console.memory.embedded import recall as recalling
from console.memory.errors import Unsupported
from console.memory.models import BasedOn, RecallRequest, RecallResult, ReflectRequest, ReflectResponse

_MOST = {"low": 8, "mid": 16, "high": 32}
"""Facts quoted, by budget."""
_LEAST = 0.35
"""Of the best fact's score: what is weaker is not an answer but noise."""
_ESCAPED = re.compile(r"([\\`*_\[\]<>#|~])")
_TOKEN = re.compile(r"\d+(?:[.:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")
_NOT = frozenset({"not", "no", "never", "longer"})
NOTICE = "_Extractive answer: facts quoted from the bank, put together without a model._"


def reflect(db: sqlite3.Connection, bank_id: str, request: ReflectRequest) -> ReflectResponse:
    """Raises Unsupported for a response schema, which needs a model."""
    if request.response_schema is not None:
        raise Unsupported(
            "a structured answer needs a model, and the embedded store has none",
            hint="use a Hindsight server",
        )
    found = recalling.recall(
        db,
        bank_id,
        RecallRequest(
            query=request.query,
            types=request.fact_types,
            budget=request.budget,
            max_tokens=request.max_tokens,
            tags=request.tags,
            tags_match=request.tags_match,
            tag_groups=request.tag_groups,
        ),
    )
    quoted = _distinct(found.results)[: _MOST[request.budget]]
    return ReflectResponse(
        text=_answer(quoted),
        based_on=BasedOn(memories=tuple(quoted)) if request.include_facts else None,
        extractive=True,
    )


def _distinct(results: Sequence[RecallResult]) -> list[RecallResult]:
    """Good enough, and each statement once: the best ranked of those that differ in case or blanks only."""
    seen: set[str] = set()
    kept = []
    for result in results:
        key = " ".join(result.text.casefold().split())
        strong = result.scores is None or (result.scores["final"] or 0.0) >= _LEAST
        if strong and key not in seen:
            seen.add(key)
            kept.append(result)
    return kept


def _answer(quoted: Sequence[RecallResult]) -> str:
    if not quoted:
        return f"The bank holds nothing about this.\n\n{NOTICE}\n"
    groups: dict[str, list[tuple[int, RecallResult]]] = {}
    for number, result in enumerate(quoted, start=1):
        groups.setdefault(result.document_id or "", []).append((number, result))
    lines = []
    for document, members in groups.items():
        day = _day(members[0][1])
        lines.append(f"**{_plain(document)}**" + (f" ({day})" if day else ""))
        lines.append("")
        lines += [f"- {_plain(result.text)} [{number}]" for number, result in members]
        lines.append("")
    lines += _contradictions(quoted)
    lines += ["Sources:", ""]
    for number, result in enumerate(quoted, start=1):
        told = ", ".join(filter(None, (f"memory `{result.id}`", _day(result))))
        lines.append(f"{number}. {_plain(result.document_id or '')}: {told}")
    return "\n".join([*lines, "", NOTICE, ""])


def _contradictions(quoted: Sequence[RecallResult]) -> list[str]:
    """Pairs that say the same with another number, or one of them not: side by side, the newer one named by date."""
    told = [(_frame(result.text), number, result) for number, result in enumerate(quoted, start=1)]
    lines = []
    for (one, first, a), (other, second, b) in combinations(told, 2):
        if one.words == other.words and len(one.words) > 1 and one != other:
            old, new = sorted([(a.mentioned_at or "", first), (b.mentioned_at or "", second)])
            dated = old[0] and old[0] != new[0]
            newer = f"[{new[1]}] is newer ({new[0][:10]})" if dated else "nothing tells which is newer"
            lines.append(f"- [{first}] {_plain(a.text)} / [{second}] {_plain(b.text)}: {newer}")
    return ["Contradictions:", "", *lines, ""] if lines else []


@dataclass(frozen=True, slots=True)
class _Frame:
    """A statement without what may differ in a contradiction, and that."""

    words: frozenset[str]
    numbers: tuple[str, ...]
    denied: bool


def _frame(text: str) -> _Frame:
    words = [word.replace("’", "'") for word in _TOKEN.findall(text.casefold())]
    denied = any(word in _NOT or word.endswith("n't") for word in words)
    kept = (word.removesuffix("n't") for word in words if word not in _NOT and not word[0].isdigit())
    return _Frame(frozenset(kept), tuple(word for word in words if word[0].isdigit()), denied)


def _day(result: RecallResult) -> str:
    return (result.occurred_start or result.mentioned_at or "")[:10]


def _plain(text: str) -> str:
    """Bank text as text: on one line, and no markdown of its own."""
    return _ESCAPED.sub(r"\\\1", " ".join(text.split()))
