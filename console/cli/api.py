"""``console api``: any operation of a Hindsight server, by the server's own description of itself."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from click.shell_completion import CompletionItem

from console.api import cache
from console.api.form import form
from console.api.request import Target, destroys, fill, names
from console.api.spec import METHODS, Operation, find
from console.cli.base import Refused, State, check_text, command, confirm, note, pass_state
from console.cli.options import pairs
from console.cli.output import Column, out, print_bytes, print_fields, print_json, print_table, styled
from console.text import neutralise, one_line

_INPUT_LIMIT = 128 * 1024 * 1024


def _complete_method(context: click.Context, _: click.Parameter, word: str) -> list[CompletionItem]:
    return [CompletionItem(method) for method in METHODS if method.startswith(word.upper())]


def _complete_path(context: click.Context, _: click.Parameter, word: str) -> list[CompletionItem]:
    method = str(context.params.get("method") or "").upper()
    known = cache.recalled(context.ensure_object(State).settings.store, "operations")
    return [
        CompletionItem(row["path"], help=row.get("summary"))
        for row in known
        if isinstance(row, dict) and row.get("method") == method and str(row.get("path")).startswith(word)
    ]


@command("api")
@click.argument("method", required=False, shell_complete=_complete_method)
@click.argument("path", required=False, shell_complete=_complete_path)
@click.option(
    "--list", "listing", is_flag=True, help="What the server offers; METHOD may be a word to look for."
)
@click.option("--describe", is_flag=True, help="What the operation takes, as the server describes it.")
@click.option(
    "--path",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="For {NAME} in PATH; {bank_id} is the bank in use.",
)
@click.option("--query", multiple=True, metavar="NAME=VALUE", help="A query parameter; may be repeated.")
@click.option("--field", multiple=True, metavar="NAME=VALUE", help="A field of the body: JSON, else text.")
@click.option("--raw-field", multiple=True, metavar="NAME=VALUE", help="A field of the body, always as text.")
@click.option("--input", "source", metavar="FILE|-", help="The body: JSON from a file or standard input.")
@click.option(
    "--upload",
    multiple=True,
    metavar="NAME=FILE",
    help="Send a form with this file; --field is its text fields.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the answer there as it is."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be sent.")
@pass_state
def api(
    state: State,
    method: str | None,
    path: str | None,
    listing: bool,
    describe: bool,
    values: tuple[str, ...],
    query: tuple[str, ...],
    field: tuple[str, ...],
    raw_field: tuple[str, ...],
    source: str | None,
    upload: tuple[str, ...],
    output: Path | None,
    dry_run: bool,
) -> None:
    """Send one request to the Hindsight server in use and print its answer.

    \b
    console api GET  /v1/default/banks/{bank_id}/webhooks
    console api GET  /v1/default/banks/{bank_id}/documents/{document_id} --path document_id=a/b.md
    console api POST /v1/default/banks/{bank_id}/directives --field name=tone --field content="Be brief."
    console api get_audit_log --path log_id=ID        (an operation's name in place of METHOD PATH)

    Ids are given with --path: they reach exactly that id, whatever it holds. What destroys asks first.
    """
    from console.api.client import check_server

    check_server(state.settings, "`console api`")
    if listing:
        _list(state, [word for word in (method, path) if word])
        return
    if method is None:
        raise click.UsageError("give METHOD and PATH, or --list")
    operation: Operation | None = None
    if path is None:
        operation = _named(_operations(state), method)
        method, path = operation.method, operation.path
    method = method.upper()
    if method not in METHODS:
        raise click.UsageError(f"the method is one of {', '.join(METHODS)}")
    if describe:
        _describe(state, operation or _found(_operations(state), method, path))
        return
    target = fill(method, check_text(path, "PATH"), _values(state, path, values))
    asked = [(name, value) for name, value in _repeated(query, "--query")]
    body = _body(method, field, raw_field, source, bool(upload))
    destroyed = destroys(method, target, dict(asked))
    if dry_run:
        _say_dry(state, method, target, asked, body, destroyed)
        return
    if destroyed is not None:
        if state.settings.read_only:
            from console.memory.errors import ReadOnly

            raise ReadOnly(
                "the store is opened read-only", where=state.settings.store, hint="leave out --read-only"
            )
        confirm(state, f"{destroyed} on {state.settings.store}")
    content = _form(upload, body) if upload else None
    answer = _send(state, method, target, asked, None if upload else body, content)
    _print(state, answer[0], answer[1], output)


def _values(state: State, path: str, values: tuple[str, ...]) -> dict[str, str]:
    given = {name: check_text(value, f"--path {name}") for name, value in pairs(values, "--path").items()}
    if "bank_id" in names(path):
        given.setdefault("bank_id", state.settings.bank)
    return given


def _repeated(values: Iterable[str], option: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for item in values:
        [(name, value)] = pairs([item], option).items()
        found.append((name, check_text(value, f"{option} {name}")))
    return found


def _body(method: str, field: tuple[str, ...], raw: tuple[str, ...], source: str | None, form: bool) -> Any:
    fields: dict[str, Any] = {}
    for name, value in pairs(raw, "--raw-field").items():
        fields[name] = check_text(value, f"--raw-field {name}")
    for name, value in pairs(field, "--field").items():
        if name in fields:
            raise click.UsageError(f"--field and --raw-field both give {name!r}")
        text = check_text(value, f"--field {name}")
        try:
            fields[name] = text if form else msgspec.json.decode(text.encode())
        except (msgspec.DecodeError, RecursionError):
            fields[name] = text
    if source is not None:
        if fields or form:
            raise click.UsageError("--input is the whole body: it goes with no --field and no --upload")
        fields_or_any = _read_json(source)
        if method == "GET":
            raise click.UsageError("GET takes no body: use --query")
        return fields_or_any
    if method == "GET" and (fields or form):
        raise click.UsageError("GET takes no body: use --query")
    return fields or None


def _read_json(source: str) -> Any:
    try:
        if source == "-":
            data = sys.stdin.buffer.read(_INPUT_LIMIT + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(_INPUT_LIMIT + 1)
    except OSError as error:
        raise click.UsageError(f"--input {source} cannot be read, {error.strerror}") from error
    if len(data) > _INPUT_LIMIT:
        raise click.UsageError(f"--input {source} is larger than {_INPUT_LIMIT // 2**20} MiB")
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--input {source} is no JSON, {error}") from error


def _form(upload: tuple[str, ...], fields: Any) -> tuple[str, bytes]:
    files: list[tuple[str, str, bytes]] = []
    for name, file in _repeated(upload, "--upload"):
        try:
            files.append((name, Path(file).name, Path(file).read_bytes()))
        except OSError as error:
            raise click.UsageError(f"--upload {file} cannot be read, {error.strerror}") from error
    return form({name: str(value) for name, value in (fields or {}).items()}, files)


def _send(
    state: State,
    method: str,
    target: Target,
    query: list[tuple[str, str]],
    body: Any,
    content: tuple[str, bytes] | None,
) -> tuple[bytes, str]:
    from console.api.client import open_api

    async def work() -> tuple[bytes, str]:
        async with open_api(state.settings) as server:
            answer = await server.send(method, target, query=query, body=body, content=content)
            return answer.content, answer.headers.get("content-type", "")

    return asyncio.run(work())


def _print(state: State, data: bytes, kind: str, output: Path | None) -> None:
    if output is not None:
        output.write_bytes(data)
        note(f"{len(data):,} bytes in {output}")
        if state.as_json:
            print_json({"success": True, "output": str(output), "bytes": len(data)})
        return
    if "json" in kind:
        from console.memory.errors import BadAnswer

        try:
            print_json(msgspec.json.decode(data) if data else None)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise BadAnswer(
                "the server's answer is cut, nested too deeply or no JSON",
                hint="--output FILE keeps it as it is",
            ) from error
    elif state.as_json:
        raise Refused(
            f"the answer is {one_line(kind) or 'untyped'}, not JSON: leave out --json, or give --output FILE"
        )
    elif kind.startswith("text/"):
        out(neutralise(data.decode("utf-8", "replace")).rstrip("\n"))
    elif sys.stdout.isatty():
        raise Refused(f"the answer is {one_line(kind) or 'untyped'}, {len(data):,} bytes: give --output FILE")
    else:
        print_bytes(data)


def _say_dry(
    state: State, method: str, target: Target, query: list[tuple[str, str]], body: Any, destroyed: str | None
) -> None:
    from console.memory.hindsight.urls import target as joined

    url = state.settings.store.rstrip("/") + joined(target.path, query)
    if state.as_json:
        print_json({"dry_run": True, "method": method, "url": url, "body": body, "destroys": destroyed})
        return
    out(one_line(f"{method} {url}"))
    if body is not None:
        print_json(body)
    note(f"would {destroyed}" if destroyed else "nothing was sent")


def _operations(state: State) -> tuple[Operation, ...]:
    from console.api.client import open_api

    async def work() -> tuple[Operation, ...]:
        async with open_api(state.settings) as server:
            return await server.operations()

    found = asyncio.run(work())
    cache.remember(
        state.settings.store,
        "operations",
        [{"method": o.method, "path": o.path, "summary": o.summary} for o in found if not o.retired],
    )
    return found


def _named(operations: Iterable[Operation], name: str) -> Operation:
    found = next((operation for operation in operations if operation.operation_id == name), None)
    if found is None:
        raise Refused(
            f"{name!r} is no operation of this server: `console api --list` shows them, or give METHOD PATH"
        )
    return found


def _found(operations: Iterable[Operation], method: str, path: str) -> Operation:
    found = find(operations, method, path)
    if found is None:
        raise Refused(f"this server describes no {method} {path}: `console api --list` shows what it has")
    return found


def _row(operation: Operation) -> dict[str, Any]:
    return {
        "method": operation.method,
        "path": operation.path,
        "operation_id": operation.operation_id,
        "summary": operation.summary,
        "deprecated": operation.deprecated,
        "retired": operation.retired,
    }


def _list(state: State, words: list[str]) -> None:
    shown = [
        operation
        for operation in _operations(state)
        if all(word.lower() in f"{_row(operation)}".lower() for word in words)
    ]
    if state.as_json:
        print_json({"items": [_row(operation) for operation in shown], "total": len(shown)})
        return
    print_table(
        [
            Column("METHOD"),
            Column("PATH"),
            Column("OPERATION", extra=True),
            Column("SUMMARY", gives=True, extra=True),
        ],
        [
            (
                o.method,
                o.path,
                o.operation_id,
                f"{'retired: ' if o.retired else 'deprecated: ' if o.deprecated else ''}{o.summary}",
            )
            for o in shown
        ],
        style=lambda at: "dim" if shown[at].deprecated else None,
    )
    out(f"{len(shown)} operations")


def _describe(state: State, operation: Operation) -> None:
    if state.as_json:
        parameters: list[Mapping[str, Any]] = msgspec.to_builtins(
            [{name: getattr(p, name) for name in p.__slots__} for p in operation.parameters]
        )
        print_json(
            {**_row(operation), "about": operation.about, "media": operation.media, "parameters": parameters}
        )
        return
    out(styled(one_line(f"{operation.method} {operation.path}"), bold=True))
    print_fields(
        [("operation", operation.operation_id), ("does", operation.summary), ("more", operation.about)]
    )
    for place, option in (("path", "--path"), ("query", "--query"), ("body", "--field")):
        for parameter in operation.of(place):
            marks = [parameter.kind, "required" if parameter.required else ""]
            if parameter.default not in (None, "", [], {}):
                marks.append(f"default {msgspec.json.encode(parameter.default).decode()}")
            words = ", ".join(mark for mark in marks if mark)
            out(f"  {option} {one_line(parameter.name)}=  {styled(one_line(words), dim=True)}")
            if parameter.about:
                out(f"      {one_line(parameter.about)}")
