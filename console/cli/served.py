"""Commands over what only a Hindsight server has: its own JSON in, its own JSON out.

Unknown fields of a newer server pass through ``--json`` untouched; what people see is picked from the fields that
are known, each neutralised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from console.cli.base import State, check_text, confirm, jsonl_option, note
from console.cli.output import (
    Column,
    mapping_words,
    moment,
    out,
    print_fields,
    print_json,
    print_jsonl,
    print_table,
)

if TYPE_CHECKING:
    from console.api.client import Api

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
BANK = "/v1/default/banks/{bank_id}"
Query = Sequence[tuple[str, str | int | bool | None]]
WAIT = 300.0
_MOST = 100_000
_ONCE_WHOLE = frozenset({"/observations/scopes"})
"""Routes that had no pages before 1.1: they answer everything, and no total."""


def served(state: State, work: Callable[[Api], Awaitable[T]]) -> T:
    """Open the server, do the work, close it. Raises Unsupported over another store, before anything is opened."""
    from console.api.client import open_api

    async def whole() -> T:
        async with open_api(state.settings, f"`{click.get_current_context().command_path}`") as api:
            return await work(api)

    return asyncio.run(whole())


def ask(
    state: State,
    method: str,
    rest: str,
    values: Mapping[str, str] | None = None,
    *,
    query: Query = (),
    body: Any = None,
) -> Any:
    """One request to ``rest`` below the bank in use; the decoded answer."""
    known = {"bank_id": state.settings.bank} | {k: check_text(v, k) for k, v in (values or {}).items()}
    missing = " ".join(
        f"{name.removesuffix('_id').replace('_', ' ')} {value!r}"
        for name, value in known.items()
        if name != "bank_id"
    )

    async def work(api: Api) -> Any:
        return await api.ask(
            method,
            BANK + rest,
            known,
            query=query,
            body=body,
            missing=f"{missing} in bank {state.settings.bank!r}"
            if missing
            else f"bank {state.settings.bank!r}",
        )

    return served(state, work)


def listing(
    state: State,
    rest: str,
    *,
    values: Mapping[str, str] | None = None,
    key: str = "items",
    query: Query = (),
    limit: int,
    offset: int,
    every: bool,
    most: int = _MOST,
) -> dict[str, Any]:
    """Rows of a paged route as one page: ``limit`` rows from ``offset``, or with ``every`` all from there on.

    ``most`` is the route's largest page. A route that is cut short under writes ends the listing.
    """
    from console.memory.errors import BadAnswer

    wanted = _MOST * 100 if every else limit

    async def work(api: Api) -> dict[str, Any]:
        rows: list[Any] = []
        total = 0
        while True:
            size = max(1, min(most, wanted - len(rows))) if most < _MOST else min(most, wanted - len(rows))
            page = await api.ask(
                "GET",
                BANK + rest,
                {"bank_id": state.settings.bank, **(values or {})},
                query=[*query, ("limit", size), ("offset", offset + len(rows))],
                missing=f"bank {state.settings.bank!r}",
                may_ignore=("limit", "offset") if rest in _ONCE_WHOLE else (),
            )
            part = page.get(key) if isinstance(page, dict) else None
            if not isinstance(part, list) or not all(isinstance(row, dict) for row in part):
                raise BadAnswer(f"the server's answer holds no list of {key}", where=api.url)
            if "total" not in page and rest in _ONCE_WHOLE:
                rows, total = part[offset:], len(part)
                break
            rows += part
            counted = page.get("total")
            total = counted if isinstance(counted, int) else offset + len(rows)
            if len(part) < size or len(rows) >= wanted:
                break
        rows = rows[:wanted]
        return {key: rows, "total": total, "limit": len(rows) if every else limit, "offset": offset}

    return served(state, work)


def paged(limit: int) -> Callable[[F], F]:
    """``--limit``, ``--offset`` and ``--all``."""

    def decorate(function: F) -> F:
        function = jsonl_option(function)
        function = click.option("--all", "every", is_flag=True, help="All of them, instead of --limit.")(
            function
        )
        function = click.option("--offset", type=click.IntRange(0), default=0, help="Skip so many.")(function)
        return click.option(
            "--limit", type=click.IntRange(0), default=limit, show_default=True, help="At most so many."
        )(function)

    return decorate


def tag_query(
    tags: Sequence[str], match: str, groups: Any = None
) -> list[tuple[str, str | int | bool | None]]:
    """Tag filters of a GET. Raises UsageError for tags together with tag groups."""
    import json

    if groups is not None:
        if tags:
            raise click.UsageError("--tag and --tag-groups exclude each other")
        return [("tag_groups", json.dumps(groups, ensure_ascii=False))]
    found: list[tuple[str, str | int | bool | None]] = [("tags", tag) for tag in tags]
    return [*found, ("tags_match", match)] if tags or match == "exact" else []


def show_rows(
    state: State,
    page: Mapping[str, Any],
    columns: Sequence[tuple[Column, str]],
    what: str,
    *,
    key: str = "items",
) -> None:
    """A page as JSON or lines of it, or as a table of the named fields and ``5 of 20 entities``."""
    if state.as_jsonl:
        print_jsonl(page[key])
        return
    if state.as_json:
        print_json(page)
        return
    rows = page[key]
    print_table(
        [column for column, _ in columns],
        [[cell(row.get(name), name) for _, name in columns] for row in rows],
    )
    total, offset = page.get("total", len(rows)), page.get("offset", 0)
    if not rows and not total:
        out(f"no {what}")
    elif len(rows) == total:
        out(f"{total:,} {what}")
    else:
        out(f"{len(rows):,} of {total:,} {what}; --offset {offset + len(rows)} or --all shows more")


def cell(value: Any, name: str = "") -> str:
    """Any JSON value as people read it; what stands in a field named ``…_at`` as a time."""
    if value is None or value == [] or value == {}:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, str):
        return moment(value) if name.endswith(("_at", "_seen", "timestamp")) else value
    if isinstance(value, list):
        return " ".join(cell(part) for part in value)
    return mapping_words(value) if isinstance(value, dict) else str(value)


def show(state: State, value: Any, fields: Iterable[str], *, text: str = "") -> None:
    """One object as JSON, or its named fields and below them the text in field ``text``."""
    if state.as_json:
        print_json(value)
        return
    from console.text import neutralise

    found = value if isinstance(value, dict) else {}
    print_fields([(name.replace("_", " "), cell(found.get(name), name)) for name in fields])
    if text and isinstance(found.get(text), str) and found[text].strip():
        out()
        out(neutralise(found[text]).rstrip())


def said(state: State, answer: Any, line: str) -> None:
    """What a change answered: as JSON, or one line."""
    if state.as_json:
        print_json(answer)
    else:
        note(line)


def destroying(state: State, action: str, dry_run: bool) -> bool:
    """Whether to go on: with ``dry_run`` only say it, else ask."""
    if dry_run:
        if state.as_json:
            print_json({"dry_run": True, "destroys": action})
        else:
            note(f"would {action}")
        return False
    if state.settings.read_only:
        from console.memory.errors import ReadOnly

        raise ReadOnly(
            "the store is opened read-only", where=state.settings.store, hint="leave out --read-only"
        )
    confirm(state, f"{action} on {state.settings.store}")
    return True


def finished(state: State, answer: Any, wait: bool, what: str) -> None:
    """Work that goes on in the background: name its operation, or wait for it and end with 1 where it failed."""
    operation = answer.get("operation_id") if isinstance(answer, dict) else None
    if not wait or not isinstance(operation, str):
        said(
            state, answer, f"{what}: operation {operation}; `console operations wait {operation}` follows it"
        )
        return
    ended = state.with_store(lambda store: store.wait_operation(state.settings.bank, operation, timeout=WAIT))
    said(
        state, ended, f"{what}: {ended.status}" + (f", {ended.error_message}" if ended.error_message else "")
    )
    if ended.status != "completed":
        click.get_current_context().exit(1)


dry_run_option = click.option("--dry-run", is_flag=True, help="Only say what would be done.")
wait_option = click.option("--wait", is_flag=True, help="Wait until it has ended; exit 1 when it failed.")
