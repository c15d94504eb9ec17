"""Document -> page. Equal sources give equal bytes, in whatever order the facts come.

The format is settled: front matter with what nothing else tells, a title, who and when, and one list with one
fact a line in reading order. The comment at the end of a line carries the fact's key and the state that the
mirror wrote; a line whose look differs from it is a person's mark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mirror import frontmatter, textfile
from mirror.escape import escape
from mirror.keys import chunk_key, fact_key, fold
from mirror.model import FactLine, PageSource, Record, RenderedPage
from mirror.source import SourceFact
from mirror.title import clip, meaningful_line, title
from mirror.where import Locator

VOLATILE = frozenset({"retained_at", "message_count"})
"""Metadata that changes with every retain and says nothing: never on a page."""
HEADING = "## Facts (to take one back, put `[ ]` before it)"
CHUNK_LENGTH = 1000
"""The only text of its chunk, longer than this, is the chunk itself: the server has no model."""
_CHUNK_COLUMNS = 100
_RESERVED = frozenset(
    {
        "context",
        "correct",
        "document",
        "erased",
        "facts",
        "metadata",
        "params",
        "reason",
        "redact",
        "retracted",
    }
    | {"schema", "status", "superseded_by", "tags", "text"}
)
"""Front-matter keys that mean something to the mirror: what a document was retained with never sets one."""


def _as_it_is(text: str) -> str:
    return text


def fact_lines(source: PageSource, hide: Callable[[str], str] = _as_it_is) -> tuple[FactLine, ...]:
    """One line per distinct key, in reading order; records that the bank no longer lists at the end, by key.

    ``hide`` takes secrets out of what is shown; keys are those of the bank's own texts.
    """
    facts = [fact for fact in source.facts if fact.fact_type != "observation"]
    chunk_keys: dict[int, set[str]] = {}
    for fact in facts:
        chunk_keys.setdefault(fact.chunk_index, set()).add(chunk_key(fact.chunk_index, fact.text))
    groups: dict[str, list[SourceFact]] = {}
    chunks: set[str] = set()
    for fact in facts:
        # The state before a growth stays in the bank, invalidated, beside the chunk of now: still one chunk.
        whole = len(chunk_keys[fact.chunk_index]) == 1 and (
            "\n" in fact.text.strip() or len(fact.text) > CHUNK_LENGTH
        )
        key = chunk_key(fact.chunk_index, fact.text) if whole else fact_key(fact.text)
        if whole:
            chunks.add(key)
        groups.setdefault(key, []).append(fact)
    records = {record.key: record for record in source.records}
    ordered = sorted(groups.items(), key=lambda item: (_order(item[1]), item[0]))
    lines = [_line(key, group, records.get(key), key in chunks, hide) for key, group in ordered]
    lines += [_record_line(records[key]) for key in sorted(records.keys() - groups.keys())]
    return tuple(lines)


def _order(facts: Sequence[SourceFact]) -> tuple[int, str]:
    return min((fact.chunk_index, fact.mentioned_at or "") for fact in facts)


def _line(
    key: str,
    facts: Sequence[SourceFact],
    record: Record | None,
    is_chunk: bool,
    hide: Callable[[str], str],
) -> FactLine:
    live = [fact for fact in facts if fact.live]
    shown_by = min(live or facts, key=lambda f: (f.text, f.id))
    note = ""
    if not live:
        note = _note(record) if record else _bank_note(facts, hide)
    index = min(fact.chunk_index for fact in facts)
    text = hide(shown_by.text)
    return FactLine(
        key=key,
        text=text,
        shown=_chunk_shown(index, text) if is_chunk else fold(text),
        live=bool(live),
        note=note,
        chunk_index=index,
        is_chunk=is_chunk,
        fact_ids=tuple(sorted(fact.id for fact in facts)),
    )


def _record_line(record: Record) -> FactLine:
    index = record.chunk_index or 0
    return FactLine(
        key=record.key,
        text=record.text,
        shown=_chunk_shown(index, record.text) if record.is_chunk else fold(record.text),
        live=False,
        note=_note(record),
        chunk_index=index,
        is_chunk=record.is_chunk,
    )


def _chunk_shown(index: int, text: str) -> str:
    return f"chunk {index}: {clip(meaningful_line(text), _CHUNK_COLUMNS)}"


def _note(record: Record) -> str:
    return "; ".join(part for part in (record.reason, record.by, record.when) if part)


def _bank_note(facts: Sequence[SourceFact], hide: Callable[[str], str]) -> str:
    first = min(facts, key=lambda f: (f.invalidated_at or "", f.id))
    return "; ".join(
        part for part in (fold(hide(first.reason or "")), (first.invalidated_at or "")[:10]) if part
    )


def shown_hash(shown: str) -> str:
    """Of a line whose key is not of what it shows (a chunk, a withheld secret): 8 hex digits."""
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def render(
    source: PageSource,
    *,
    text_name: str,
    volatile: frozenset[str] = VOLATILE,
    hide: Callable[[str], str] = _as_it_is,
    hidden_text: bool = False,
) -> RenderedPage:
    """The two files of a document. ``text_name``: the .txt's file name, for the link.

    ``hide`` takes secrets out of facts; ``hidden_text``: they were taken out of the text already.
    """
    encoded = None if source.text is None else textfile.encode(source.text)
    if encoded is not None and hidden_text:
        encoded = replace(encoded, mode=f"{textfile.WITHHELD} {encoded.mode}".rstrip())
    lines = fact_lines(source, hide)
    if encoded is not None:
        locator = Locator(encoded.data, encoded.mode)
        lines = tuple(_located(line, locator) for line in lines)
    retracted = bool(lines) and not any(line.live for line in lines)
    status = "retracted" if retracted or source.retraction is not None else "active"
    heading = (
        title(source.text or "") or clip(next((line.shown for line in lines), "")) or clip(source.document_id)
    )
    agent = agent_of(source)
    front = frontmatter.write(_fields(source, status, encoded, volatile))
    parts = [
        front,
        "\n",
        f"# {_heading(heading)}\n\n",
        f"{_provenance(source, agent, text_name)}\n\n",
        f"{HEADING}\n\n",
    ]
    if lines:
        parts += [f"{write_line(line)}\n" for line in lines]
    else:
        parts.append("Nothing was extracted from this text.\n")
    return RenderedPage(
        page="".join(parts).encode("utf-8"),
        text=None if encoded is None else encoded.data,
        text_mode="" if encoded is None else encoded.mode,
        title=heading,
        agent=agent,
        status=status,
        facts=lines,
        final_newline=False if encoded is None else encoded.final_newline,
    )


def _located(line: FactLine, locator: Locator) -> FactLine:
    where = locator.span(line.text) if line.is_chunk else locator.find(line.text)
    return (
        line
        if where is None
        else FactLine(
            line.key,
            line.text,
            line.shown,
            line.live,
            line.note,
            line.chunk_index,
            line.is_chunk,
            where,
            line.fact_ids,
        )
    )


def write_line(line: FactLine) -> str:
    """One bullet, without its newline."""
    comment = f"f:{line.key}"
    if line.is_chunk or fact_key(line.shown) != line.key:
        comment += f" s:{shown_hash(line.shown)}"
    if line.line:
        first, last = line.line
        comment += f" L{first}" if first == last else f" L{first}-L{last}"
    if line.live:
        return f"- {escape(line.shown)} <!-- {comment} -->"
    note = f" {escape(line.note)}" if line.note else ""
    return f"- [ ] ~~{escape(line.shown, struck=True)}~~ <!-- {comment} retracted -->{note}"


def _fields(
    source: PageSource, status: str, encoded: textfile.TextFile | None, volatile: frozenset[str]
) -> Mapping[str, object]:
    metadata = {key: value for key, value in source.metadata.items() if key not in volatile}
    fields: dict[str, object] = {
        "context": source.context,
        "document": source.document_id,
        "metadata": metadata or None,
        "status": status,
        "tags": list(source.tags) or None,
        "text": "not stored" if encoded is None else encoded.mode or None,
    }
    clashing = {name: value for name, value in source.params.items() if name in _RESERVED}
    fields |= {name: value for name, value in source.params.items() if name not in _RESERVED}
    if clashing:
        fields["params"] = clashing
    if source.retraction is not None:
        # Beside the status, so that the page alone tells what the mirror wrote from what a person changed.
        record = source.retraction
        fields["reason"] = fold(record.reason) or None
        fields["retracted"] = "; ".join(part for part in (record.by, record.when) if part) or "whole"
    return fields


def agent_of(source: PageSource) -> str:
    """Who retained it: the seam's label, else a ``harness:`` tag, else the context; '' where nothing says so."""
    if source.label:
        return source.label
    tag = next((tag for tag in sorted(source.tags) if tag.startswith("harness:") and len(tag) > 8), "")
    return tag[8:] or clip(source.context or "", 40)


def _provenance(source: PageSource, agent: str, text_name: str) -> str:
    parts = [f"**{_bold(agent)}**"] if agent else []
    session = source.metadata.get("session_id") or source.metadata.get("session")
    author = source.metadata.get("author") or source.metadata.get("user")
    if session:
        parts.append(f"session {_code(session)}")
    elif author:
        parts.append(f"by {escape(clip(author, 40))}")
    if len(source.created_at) >= 10:
        parts.append(f"first retained {source.created_at[:10]}")
    parts.append(f"[source text]({text_name})" if source.text is not None else "source text not stored")
    return " · ".join(parts)


def _heading(text: str) -> str:
    line = escape(text)
    stripped = line.rstrip("#")
    return (
        f"{stripped}\\{line[len(stripped) :]}" if stripped != line and not stripped.endswith("\\") else line
    )


def _bold(text: str) -> str:
    return escape(text).replace("**", "\\*\\*")


def _code(text: str) -> str:
    shown = clip(text, 60)
    plain = shown.isascii() and shown.isprintable() and "`" not in shown and shown.strip()
    return f"`{shown}`" if plain else escape(shown)
