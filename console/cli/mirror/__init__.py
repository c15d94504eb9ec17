"""``console mirror``: the wiki of a bank in a git repository. Nothing is imported before a verb runs."""

from __future__ import annotations

import click

from console.cli.base import Group, with_globals

_VERBS = {
    "init": ("console.cli.mirror.sync:init", "Bind a wiki folder to the bank and write its first pages."),
    "status": ("console.cli.mirror.sync:status", "How the wiki stands against the bank."),
    "plan": (
        "console.cli.mirror.sync:plan",
        "What a sync would send to the bank and write; exit 2 when there is something.",
    ),
    "sync": ("console.cli.mirror.sync:sync", "Carry merged marks to the bank, then bring the wiki up to it."),
    "apply": ("console.cli.mirror.sync:apply", "Carry merged marks to the bank; write no page."),
    "verify": ("console.cli.mirror.sync:verify", "Compare every page and text with the bank."),
    "check": (
        "console.cli.mirror.check:check",
        "Are the edits on the pages marks? Needs no bank; exit 3 on one that is none.",
    ),
    "diff": (
        "console.cli.mirror.history:diff",
        "What changed in memory between two revisions, per document and fact.",
    ),
    "log": ("console.cli.mirror.history:log", "The commits of the wiki; --retractions: what was taken back."),
    "blame": (
        "console.cli.mirror.history:blame",
        "Who said a fact, when it appeared, how it was taken back.",
    ),
    "import": (
        "console.cli.mirror.import_:import_",
        "Rebuild an empty bank from the wiki, and bind the wiki to it.",
    ),
    "secrets": (
        "console.cli.mirror.secrets:secrets",
        "Secrets that are withheld; keep or allow one by its fingerprint.",
    ),
    "retract": ("console.cli.mirror.marks:retract", "Put a mark before a fact: take it back."),
    "restore": ("console.cli.mirror.marks:restore", "Put a mark before a retracted fact: let it live again."),
    "correct": ("console.cli.mirror.marks:correct", "Write a corrected source text beside its page."),
    "erase": (
        "console.cli.mirror.marks:erase",
        "Delete a document for good, and say where its text still is.",
    ),
}


@click.command(
    cls=Group, name="mirror", lazy=_VERBS, help="A bank's documents as reviewable pages in a git repository."
)
@with_globals
def mirror() -> None: ...
