"""README and month index of a bank: generated regions inside files that people may write in.

Only what stands between the two markers is ours; the rest is kept byte for byte. No counts and no dates
of the last run, so an unchanged bank changes nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mirror.escape import escape
from mirror.manifest import Entry
from mirror.paths import page_name

BEGIN = "<!-- mirror:begin (written by console mirror sync; text outside these two lines is yours) -->"
END = "<!-- mirror:end -->"


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)


def month_of(entry: Entry) -> str:
    """``2026-12``; ``undated`` where the bank gave no date: the month names a file."""
    return entry.created[:7] if _DAY.match(entry.created) else "undated"


def readme(bank_id: str, months: Iterable[str], existing: bytes | None) -> bytes:
    """The bank's front page: links to the months, newest first."""
    lines = [f"- [{month}](index/{month}.md)" for month in sorted(months, reverse=True)]
    head = (
        f"# Memory of {escape(bank_id)}\n\n"
        "What agents retained, one page a document. To take a fact back, put `[ ]` before it on its page,\n"
        "write why after the comment, and open a pull request.\n"
    )
    return _with_region(existing, head, "\n".join(lines) or "Nothing retained yet.")


def month_page(bank_id: str, month: str, entries: Iterable[Entry], existing: bytes | None) -> bytes:
    """One line a document, oldest first: day, agent, title, link."""
    lines = []
    for entry in sorted(entries, key=lambda e: (e.created, e.document_id)):
        day = entry.created[8:10] if _DAY.match(entry.created) else "--"
        agent = f"**{escape(entry.agent)}** " if entry.agent else ""
        title = _link_text(entry.title) or "untitled"
        lines.append(f"- {day} {agent}[{title}](../{page_name(bank_id, entry.document_id).page})")
    return _with_region(existing, f"# {month}\n", "\n".join(lines))


def _link_text(title: str) -> str:
    """Inside a link no bare URL and no bracket may stand: a link cannot hold a link."""
    return escape(title.replace("[", "(").replace("]", ")").replace("://", ": //"))


def _with_region(existing: bytes | None, head: str, body: str) -> bytes:
    region = f"{BEGIN}\n\n{body}\n\n{END}\n"
    if existing is None:
        return f"{head}\n{region}".encode()
    text = existing.decode("utf-8", "surrogateescape")
    start = text.find(BEGIN[:20])
    stop = text.find(END, start + 1) if start >= 0 else -1
    if start < 0 or stop < 0:
        # The markers were removed: the person's text stays, the list follows it.
        joined = text if text.endswith("\n") or not text else text + "\n"
        return (joined + "\n" + region).encode("utf-8", "surrogateescape")
    rest = text[stop + len(END) :].removeprefix("\r").removeprefix("\n")
    return (text[:start] + region + rest).encode("utf-8", "surrogateescape")


def split_months(entries: Mapping[str, Entry]) -> dict[str, list[Entry]]:
    """Month -> its documents that have a page."""
    months: dict[str, list[Entry]] = {}
    for entry in entries.values():
        if entry.page:
            months.setdefault(month_of(entry), []).append(entry)
    return months
