"""Reflect without a model: the best facts for a question, grouped by document, each cited. It says so."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from console.memory.embedded import recall as recalling
from console.memory.errors import Unsupported
from console.memory.models import BasedOn, RecallRequest, RecallResult, ReflectRequest, ReflectResponse

_MOST = {"low": 8, "mid": 16, "high": 32}
"""Facts quoted, by budget."""
_LEAST = 0.35
"""Of the best fact's score: what is weaker is not an answer but noise."""
_ESCAPED = re.compile(r"([\\`*_\[\]<>#|~])")
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
    lines += ["Sources:", ""]
    for number, result in enumerate(quoted, start=1):
        told = ", ".join(filter(None, (f"memory `{result.id}`", _day(result))))
        lines.append(f"{number}. {_plain(result.document_id or '')}: {told}")
    return "\n".join([*lines, "", NOTICE, ""])


def _day(result: RecallResult) -> str:
    return (result.occurred_start or result.mentioned_at or "")[:10]


def _plain(text: str) -> str:
    """Bank text as text: on one line, and no markdown of its own."""
    return _ESCAPED.sub(r"\\\1", " ".join(text.split()))
