"""The same change to many things: ids from arguments or standard input, a result for each, and what failed kept.

Promise: each id is tried once, at most ``AT_ONCE`` at a time; one that fails stops no other; what failed can be
given again: ``… --failed left.jsonl`` and later ``… - < left.jsonl``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from console.cli.base import State, check_text, jsonl_option, note
from console.cli.output import count, out, print_json, print_jsonl
from console.memory.errors import StoreError
from console.memory.store import MemoryStore
from console.text import label, one_line

AT_ONCE = 8
_MOST_BYTES = 256 * 1024 * 1024
_KEYS = ("id", "memory_id", "document_id", "operation_id")


def bulk_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--failed`` and ``--jsonl``."""
    function = click.option(
        "--failed",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write what failed there, to be given again: - < FILE.",
    )(function)
    return jsonl_option(function)


def read_ids(words: Sequence[str], key: str | None = None) -> list[str]:
    """The ids of the command line, or with ``-`` those of standard input; each once, in order.

    A line is an id as it stands, or JSON: a string, an object with ``key`` or ``id``, or a whole listing. Raises
    UsageError, naming the line.
    """
    if "-" not in words:
        return list(dict.fromkeys(check_text(word, "ID") for word in words))
    if len(words) > 1:
        raise click.UsageError("- (standard input) stands alone")
    if sys.stdin is None or sys.stdin.closed:
        raise click.UsageError("standard input is closed")
    data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise click.UsageError("standard input is larger than 256 MiB")
    found: dict[str, None] = {}
    for at, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            found.update(dict.fromkeys(_ids(line.rstrip(b"\r"), at, key)))
    if not found:
        raise click.UsageError("standard input names nothing")
    return list(found)


def _ids(line: bytes, at: int, key: str | None) -> list[str]:
    if line.lstrip()[:1] not in {b"{", b"[", b'"'}:
        try:
            return [line.decode("utf-8")]
        except UnicodeDecodeError as error:
            raise click.UsageError(f"line {at} of standard input is not UTF-8") from error
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise click.UsageError(
            f"line {at} of standard input is no JSON: give one object a line (--jsonl)"
        ) from error
    rows = value
    if isinstance(value, dict) and isinstance(value.get("items", value.get("results")), list):
        rows = value.get("items", value.get("results"))
    return [_id(row, at, key) for row in (rows if isinstance(rows, list) else [rows])]


def _id(row: Any, at: int, key: str | None) -> str:
    if isinstance(row, dict):
        row = next((row[name] for name in (key, *_KEYS) if name and row.get(name)), None)
    if not isinstance(row, str) or not row:
        raise click.UsageError(f"line {at} of standard input names no id")
    return row


def each(
    state: State,
    ids: Sequence[str],
    work: Callable[[MemoryStore, str], Awaitable[Any]],
    verb: str,
    failed: Path | None,
) -> None:
    """Do it to each; print a result for each; exit 1 where one failed.

    ``verb`` is what was done, as in ``invalidated``. With ``--jsonl`` results come as they are there.
    """
    results: dict[str, dict[str, Any]] = {}

    async def one(store: MemoryStore, gate: asyncio.Semaphore, identifier: str) -> None:
        async with gate:
            try:
                answer = await work(store, identifier)
                results[identifier] = {"id": identifier, "success": True, "result": answer}
            except StoreError as error:
                results[identifier] = {"id": identifier, "success": False, "error": str(error)}
        if state.as_jsonl:
            print_jsonl([results[identifier]])

    async def whole(store: MemoryStore) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            for identifier in ids:
                tasks.create_task(one(store, gate, identifier))

    state.with_store(whole)
    rows = [results[identifier] for identifier in ids]
    bad = [row for row in rows if not row["success"]]
    if state.as_json:
        print_json({"items": rows, "total": len(rows), "failed": len(bad)})
    elif not state.as_jsonl:
        for row in rows:
            words = verb if row["success"] else f"FAILED  {row['error']}"
            out(f"{label(row['id'])}  {one_line(words)}")
    if failed is not None:
        failed.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in bad))
    note(f"{verb} {count(len(rows) - len(bad), 'item')}" + (f", {len(bad)} failed" if bad else ""))
    if bad:
        if failed is None:
            note("--failed FILE keeps what failed, to be given again as - < FILE")
        click.get_current_context().exit(1)
