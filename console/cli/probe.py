"""``console probe``: saved queries with what they should find."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import click
import msgspec

from console.cli.base import State, group, note, pass_state
from console.cli.output import Column, out, print_json, print_table
from console.memory.errors import InvalidInput
from console.probes import Change, Report, changes, read, run
from console.text import one_line


@group("probe", help="Saved queries with what they should find: a regression test for memory.")
def probe() -> None: ...


@probe.command("run")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--baseline", type=click.Path(path_type=Path, dir_okay=False), help="Compare with this earlier --json."
)
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), help="Write this run there, as --baseline."
)
@click.option("--no-record", is_flag=True, help="Do not remember this run as the last one.")
@click.option(
    "--strict", is_flag=True, help="Exit 1 on any probe that fails, not only on one that passed before."
)
@pass_state
def run_(
    state: State,
    files: tuple[Path, ...],
    baseline: Path | None,
    save: Path | None,
    no_record: bool,
    strict: bool,
) -> None:
    """Ask every probe of FILE (default: the settings' probes): hit@k, MRR, time; exit 1 on a regression.

    A run is compared with the last one of the same files against the same bank. A run with a regression is not
    remembered, so that the next one still shows it.
    """
    paths = files or tuple(Path(str(path)) for path in state.settings.get("probes", ()))
    if not paths:
        raise click.UsageError("give a FILE, or set probes in the settings")
    probes = tuple(found for path in paths for found in read(_text(path), str(path)))
    keys = [found.key for found in probes]
    if len(set(keys)) != len(keys):
        raise click.UsageError("two files hold a probe of the same name: give each its own")
    last = baseline or _last(state, paths)
    before = _earlier(last, required=baseline is not None)
    found = state.with_store(lambda store: run(store, state.settings.bank, probes))
    changed = changes(before, found) if before is not None else ()
    regressed = [change for change in changed if change.kind == "regressed"]
    if save is not None:
        save.write_bytes(msgspec.json.encode(found))
    if not no_record and not regressed and baseline is None:
        _record(last, found)
    if state.as_json:
        print_json({**msgspec.to_builtins(found), "changes": changed, "regressed": len(regressed)})
    else:
        _print(found, changed, before is not None)
    if regressed or (strict and found.failed):
        click.get_current_context().exit(1)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read, {(error.strerror or 'no reason').lower()}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path} is not UTF-8") from error


def _last(state: State, paths: tuple[Path, ...]) -> Path:
    import platformdirs

    parts = [state.settings.store, state.settings.bank, *sorted(str(path.resolve()) for path in paths)]
    name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return platformdirs.user_state_path("memory-console", appauthor=False) / "probes" / f"{name}.json"


def _earlier(path: Path, *, required: bool) -> Report | None:
    if not required and not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read, {(error.strerror or 'no reason').lower()}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if required:
            raise InvalidInput(
                "the baseline is no earlier run", where=str(path), hint="make one with --save"
            ) from error
        note(f"the last run in {path} cannot be read and is replaced: {error}")
        return None


def _record(path: Path, found: Report) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(found))
        beside.replace(path)
    except OSError as error:
        note(
            f"this run is not remembered, {path} cannot be written: {(error.strerror or 'no reason').lower()}"
        )


def _print(found: Report, changed: tuple[Change, ...], compared: bool) -> None:
    kinds = {change.key: change for change in changed}
    print_table(
        [
            Column(""),
            Column("PROBE", gives=True),
            Column("RANK", right=True),
            Column("MS", right=True, extra=True),
            Column("CHANGE"),
            Column("WHY", gives=True, extra=True),
        ],
        [
            (
                "ok" if o.passed else "FAIL",
                o.key,
                str(o.rank or "-"),
                f"{o.milliseconds:.0f}",
                _change(kinds.get(o.key)),
                "; ".join(
                    [f"finds {text!r}" for text in o.unwanted]
                    + [f"misses {text!r}" for text in o.missing if not o.passed]
                ),
            )
            for o in found.outcomes
        ],
    )
    for change in changed:
        if change.kind == "gone":
            out(one_line(f"gone  {change.key}"))
    out(
        f"{found.passed} of {len(found.outcomes)} pass; hit@k {found.hit_at_k:.2f}, MRR {found.mrr:.2f}, "
        f"median {found.median_ms:.0f} ms, slowest {found.slowest_ms:.0f} ms"
        + ("" if compared else "; the first run, nothing to compare with")
    )


def _change(change: Change | None) -> str:
    if change is None:
        return ""
    return (
        change.kind
        if change.kind == "new"
        else f"{change.kind}, {change.before or '-'} -> {change.after or '-'}"
    )
