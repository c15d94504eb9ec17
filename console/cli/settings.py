"""``console settings``: every setting, its source, and the trust in a repository's file."""

from __future__ import annotations

import click

from console.cli.base import State, group, note, pass_state
from console.cli.output import Column, out, print_json, print_table
from console.settings import SettingsError, trust


@group("settings", default="list", help="Every setting and where it comes from.")
def settings() -> None: ...


@settings.command("list")
@pass_state
def list_(state: State) -> None:
    """Every setting, its value (secrets masked) and the source that won."""
    rows = state.settings.listing()
    if state.as_json:
        # A secret and a command line are never given as they are, here neither.
        hidden = ("token", "token_command")
        print_json(
            {
                "items": [
                    {
                        "name": row.name,
                        "value": (row.shown or None) if row.name in hidden else row.value,
                        "source": row.source or None,
                    }
                    for row in rows
                ]
            }
        )
        return
    print_table(
        [Column("SETTING"), Column("VALUE", gives=True), Column("SOURCE", gives=True, extra=True)],
        [(row.name, row.shown or "-", row.source or "not set") for row in rows],
    )
    out()
    out(f"your configuration: {state.settings.config_file}")
    found = state.settings.repo_file
    if found is not None:
        word = "not read" if found.problem else "trusted" if found.trusted else "not trusted"
        out(f"repository's file:  {found.path} ({word})")


@settings.command("trust")
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
@pass_state
def trust_(state: State, revoke: bool) -> None:
    """Trust this repository's settings file as it is now: it may then set the store, too.

    The file's sha256 is recorded in your configuration folder; a changed file has to be trusted again.
    """
    settled = state.settings
    file = settled.repo_file
    if file is None:
        where = str(settled.repository.top) if settled.repository else ""
        hint = "write .console.toml" if settled.repository else "change to the repository"
        raise SettingsError("there is no settings file of a repository here", where=where, hint=hint)
    if file.problem and not revoke:
        raise SettingsError(
            f"cannot be trusted, {file.problem}", where=str(file.path), hint="repair it first"
        )
    trust.record(settled.trust_file, file.path, None if revoke else file.sha256)
    if state.as_json:
        print_json({"path": str(file.path), "sha256": file.sha256, "trusted": not revoke})
        return
    note(f"{'no longer trusted' if revoke else 'trusted'}: {file.path} (sha256 {file.sha256[:12]}…)")
    if file.ignored and not revoke:
        note(f"it now sets: {', '.join(file.ignored)}")
