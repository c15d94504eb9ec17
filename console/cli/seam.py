"""``console seam run | status | retry | drop``."""

from __future__ import annotations

import ipaddress
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import platformdirs

from console.cli.base import State, confirm, group, note, pass_state
from console.cli.output import Column, count, moment, number, out, print_json, print_table
from console.seam.errors import SeamError
from console.seam.spool import OPEN, STATES, Row, answer_rows, rows_of
from console.settings import APP

_SPOOL = click.option(
    "--spool",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The journal (default: a file in your state folder).",
)


@group(
    "seam", default="run", help="One endpoint for every harness: passed on to the bank, journaled, mirrored."
)
def seam() -> None: ...


def spool_path(given: Path | None) -> Path:
    """Where the journal is."""
    home = platformdirs.user_state_path(APP, appauthor=False)
    return (given or home / "seam" / "spool.sqlite").absolute()


@seam.command("run")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Another address needs CONSOLE_SEAM_TOKEN."
)
@click.option("--port", type=click.IntRange(1, 65535), default=None, help="Default: 8898.")
@click.option(
    "--repo",
    "repos",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="A repository with a bank's wiki (default: the one around you); may be given again.",
)
@click.option("--wiki", metavar="FOLDER", help="The wiki's folder in the repository (default: wiki).")
@click.option("--no-mirror", is_flag=True, help="Pass on and journal; write no page.")
@click.option("--fail-open", is_flag=True, help="Pass a write on when it cannot be journaled (else: 503).")
@click.option("--durable", is_flag=True, help="Finish a write whose client has left.")
@_SPOOL
@pass_state
def run(
    state: State,
    host: str,
    port: int | None,
    repos: tuple[Path, ...],
    wiki: str | None,
    no_mirror: bool,
    fail_open: bool,
    durable: bool,
    spool: Path | None,
) -> None:
    """Serve the bank's API on this machine until ctrl-c.

    Give a harness the address http://127.0.0.1:8898/src/NAME: what it retains is passed on unchanged, and is a
    page of the wiki with NAME on it.
    """
    from console.seam.app import Doors
    from console.seam.serve import PORT, Plan, serve

    settings = state.settings
    if settings.read_only:
        raise click.UsageError("a seam passes writes on: leave out --read-only")
    own = os.environ.get("CONSOLE_SEAM_TOKEN") or None
    embedded = settings.address.kind == "sqlite"
    if embedded and not own:
        own = own_token(spool_path(spool))
    if not _loopback(host) and not own:
        raise click.UsageError(
            f"{host} can be reached from other machines: set CONSOLE_SEAM_TOKEN to the token that clients must show"
        )
    token = settings.token()
    plan = Plan(
        backend=_backend(state),
        open_store=lambda shown: _store(settings.address, shown),
        token=token,
        spool=spool_path(spool),
        repos=() if no_mirror else tuple(path.absolute() for path in repos or (Path(),)),
        wiki=wiki or settings.wiki,
        default_branch=settings.branch,
        doors=Doors(host, port or PORT, own, token if own else None),
        fail_open=fail_open,
        durable=durable,
    )
    address = f"http://{host}:{port or PORT}"

    def ready() -> None:
        note(f"{address} -> {settings.store}; point a harness at {address}/src/NAME; ctrl-c ends it")
        if embedded:
            note("harnesses need a token: `console seam token` prints it")

    serve(plan, ready=ready)


def _backend(state: State) -> Any:
    settings = state.settings
    if settings.address.kind == "http":
        from console.seam.upstream import Upstream

        return lambda: Upstream(settings.address.location)
    if settings.address.kind == "sqlite":
        from console.seam.embedded import Embedded
        from console.stores import open_store

        return lambda: Embedded(open_store(settings))
    raise click.UsageError("a wiki takes no writes: --store http://HOST, https://HOST or sqlite:PATH")


def _store(address: Any, token: str | None) -> Any:
    if address.kind == "sqlite":
        from console.memory.embedded import EmbeddedStore

        return EmbeddedStore(address.path)
    from console.memory.hindsight import HindsightStore

    return HindsightStore(address.location, token=token)


def own_token(spool: Path) -> str:
    """The token that clients of an embedded bank must show: made once, beside the spool, for its owner's eyes only."""
    path = spool.parent / "token"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "w", encoding="ascii", newline="\n") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        found = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SeamError(
            "the seam's token cannot be read or made",
            where=str(path),
            hint=getattr(error, "strerror", None) or "remove the file; a new one is made",
        ) from error
    if not found:
        raise SeamError("the seam's token is empty", where=str(path), hint="remove it; a new one is made")
    return found


@seam.command("token")
@_SPOOL
@pass_state
def token_(state: State, spool: Path | None) -> None:
    """Print the token that harnesses show a seam over the embedded bank."""
    found = os.environ.get("CONSOLE_SEAM_TOKEN") or own_token(spool_path(spool))
    if state.as_json:
        print_json({"token": found})
    else:
        out(found)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@seam.command("status")
@click.option("--all", "everything", is_flag=True, help="Also what the bank has.")
@_SPOOL
@pass_state
def status(state: State, everything: bool, spool: Path | None) -> None:
    """What came through, and what the bank may not have."""
    path = spool_path(spool)
    shown = STATES if everything else (*OPEN, "rejected", "diverged")
    rows, counts = rows_of(path, states=shown)
    if state.as_json:
        print_json({"spool": str(path), "counts": counts, "writes": [_row_json(row) for row in rows]})
        return
    print_table(
        [
            Column("N", right=True),
            Column("WHEN"),
            Column("FROM", extra=True),
            Column("BANK", gives=True),
            Column("WRITE"),
            Column("STATE"),
            Column("DOCUMENT", gives=True, extra=True),
            Column("WHY", gives=True),
        ],
        [
            (
                str(row.id),
                moment(_iso(row.at)),
                row.label,
                row.bank,
                row.kind,
                row.state,
                ", ".join(row.documents),
                row.error,
            )
            for row in rows
        ],
    )
    words = ", ".join(f"{number(counts[name])} {name}" for name in STATES if counts.get(name))
    out(words or "nothing came through yet")


@seam.command("retry")
@click.argument("rows", nargs=-1, required=True, type=int, metavar="N...")
@_SPOOL
@pass_state
def retry(state: State, rows: tuple[int, ...], spool: Path | None) -> int:
    """Send writes again, at the running seam's next look or the next start."""
    return _answered(state, answer_rows(spool_path(spool), rows, drop=False), rows, "to be sent again")


@seam.command("drop")
@click.argument("rows", nargs=-1, required=True, type=int, metavar="N...")
@_SPOOL
@pass_state
def drop(state: State, rows: tuple[int, ...], spool: Path | None) -> int:
    """Give writes up: they are not sent, and their text goes after a week."""
    confirm(state, f"give up {count(len(rows), 'write')} that the bank may not have")
    return _answered(state, answer_rows(spool_path(spool), rows, drop=True), rows, "given up")


def _answered(state: State, done: int, rows: tuple[int, ...], words: str) -> int:
    if state.as_json:
        print_json({"asked": len(rows), "done": done})
    else:
        out(f"{count(done, 'write')} {words}")
        if done < len(rows):
            note(f"{count(len(rows) - done, 'number')} named no write that waits: `console seam status`")
    return 0 if done == len(rows) else 1


def _iso(at: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "at": _iso(row.at),
        "label": row.label,
        "upstream": row.upstream,
        "bank_id": row.bank,
        "kind": row.kind,
        "state": row.state,
        "status": row.status,
        "error": row.error,
        "document_ids": list(row.documents),
        "operation_ids": list(row.operations),
        "attempts": row.attempts,
        "bytes": len(row.body),
    }
