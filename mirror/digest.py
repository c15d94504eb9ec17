"""A review as markdown for a pull request. Whatever a bank holds, it names nobody and closes nothing.

Promise: every text of a bank is escaped, ``@name`` and ``#12`` are broken by an empty comment, and the whole
fits into what GitHub takes; what does not is cut from the bottom, and said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from mirror.escape import escape
from mirror.review import ADDED, CHANGED, WORDS, BankChanges, DocumentChange, FactChange, Review

LIMIT = 65_536
"""Characters of a comment or a pull request's text on GitHub."""
_ROOM = 300
"""Kept for the closing tag and the line that says what was cut."""
_KEEP = re.compile(r"(`[^`]*`|<[a-z]+://[^\s<>]*>)", re.IGNORECASE)
_ACTS = re.compile(r"(@)(?=[\w-])|(#)(?=\d)|\b(GH-)(?=\d)", re.IGNORECASE)
_NOTES = {"resurfaced": "live again although it was taken back", "erased": "deleted with its document"}


def safe(text: str) -> str:
    """A bank's text on one line of markdown that mentions nobody and refers to nothing."""
    parts = _KEEP.split(escape(text))
    return "".join(
        part if n % 2 else _ACTS.sub(lambda m: f"{m[0]}<!-- -->", part) for n, part in enumerate(parts)
    )


def counts_line(review: Review) -> str:
    """``2 facts retracted, 5 added; 1 document added, 3 changed``; '' for nothing."""
    found = review.counts
    facts = [(found[word], word) for word in WORDS if word in found]
    documents = [(n, word.removeprefix("documents ")) for word, n in sorted(found.items()) if " " in word]
    return "; ".join(part for part in (_counted(facts, "fact"), _counted(documents, "document")) if part)


def _counted(pairs: Sequence[tuple[int, str]], noun: str) -> str:
    words = []
    for position, (count, what) in enumerate(pairs):
        plural = noun if count == 1 else f"{noun}s"
        words.append(f"{count:,} {plural} {what}" if position == 0 else f"{count:,} {what}")
    return ", ".join(words)


def markdown(review: Review, *, limit: int = LIMIT) -> str:
    """The whole, at most ``limit`` characters."""
    blocks = list(_blocks(review))
    out: list[str] = []
    size = 0
    opened = False
    for position, (kind, text) in enumerate(blocks):
        if size + len(text) > limit - _ROOM:
            facts = sum(1 for rest, _ in blocks[position:] if rest == "fact")
            close = "\n</details>\n" if opened else ""
            out.append(
                f"{close}\n**Cut here:** {facts:,} more {'fact' if facts == 1 else 'facts'} did not fit; `console mirror diff` shows them all.\n"
            )
            break
        out.append(text)
        size += len(text)
        opened = kind == "open" or (opened and kind != "close")
    return "".join(out)


def _blocks(review: Review) -> Iterator[tuple[str, str]]:
    yield "head", f"{counts_line(review) or 'Nothing changed in memory'}.\n"
    if review.counts:
        yield (
            "head",
            "\nTo take a fact back, put `[ ]` before its line on the page and write why behind the comment.\n",
        )
    problems = [*review.problems, *(p for bank in review.banks for p in bank.problems)]
    if problems:
        yield "head", "\n**Could not be read:**\n\n"
        for problem in problems:
            yield "problem", f"- {safe(problem)}\n"
    for bank in review.banks:
        if not bank.documents:
            continue
        if len(review.banks) > 1:
            yield "head", f"\n## {safe(bank.bank_id)}\n"
        yield from _bank_blocks(bank)


def _bank_blocks(bank: BankChanges) -> Iterator[tuple[str, str]]:
    for agent, documents in by_agent(bank.documents):
        count = sum(len(document.facts) for document in documents)
        facts = f"{count:,} {'fact' if count == 1 else 'facts'}"
        yield "open", f"\n<details open>\n<summary><b>{_html(agent)}</b>: {facts}</summary>\n\n"
        for document in documents:
            yield from _document_blocks(document)
        yield "close", "\n</details>\n"


def by_agent(documents: Sequence[DocumentChange]) -> list[tuple[str, list[DocumentChange]]]:
    """Agents by name; what nothing says who retained comes last, by its tags."""
    groups: dict[tuple[bool, str], list[DocumentChange]] = {}
    for document in documents:
        name = (
            document.agent or (", ".join(document.tags) and f"tags {', '.join(document.tags)}") or "unknown"
        )
        groups.setdefault((not document.agent, name), []).append(document)
    return [(name, groups[unknown, name]) for unknown, name in sorted(groups)]


def _document_blocks(document: DocumentChange) -> Iterator[tuple[str, str]]:
    who = [f"session {safe(document.session)}"] if document.session else []
    who += [document.day] if document.day else []
    what = {"changed": ""}.get(document.what, f" ({document.what})")
    head = f"**{_bold(safe(document.title or document.document_id))}**{what}"
    if len(document.facts) == 1 and document.what == ADDED:
        # A document that is one sentence is one line: its title says the same again.
        yield "fact", _fact_line(document, document.facts[0], " · ".join(who))
        return
    places = [link("page", document.path)] if document.what != "removed" else []
    notes = [f"source text changed ({link('txt', document.text_path)})"] if _text_only(document) else []
    notes += [safe(document.reason)] if document.reason else []
    yield "document", f"\n{' · '.join([head, *who, *places, *notes])}\n\n"
    for fact in document.facts:
        yield "fact", _fact_line(document, fact, "")


def _text_only(document: DocumentChange) -> bool:
    return document.text_changed and document.what == CHANGED


def _fact_line(document: DocumentChange, fact: FactChange, who: str) -> str:
    text = safe(fact.text)
    if fact.what == CHANGED:
        text = f"{safe(fact.old_text)} → {text}"
    why = "; ".join(safe(part) for part in (fact.reason, fact.by, fact.pr, fact.when) if part)
    note = _NOTES.get(fact.what, "")
    extra = [part for part in (why, note, "not applied yet" if fact.marked else "", who) if part]
    links = []
    if fact.line:
        links.append(link("page", document.path, f"?plain=1#L{fact.line}"))
    if fact.source_line and document.what != "removed":
        links.append(link("source", document.text_path, f"#L{fact.source_line[0]}"))
    return f"- **{fact.what}** {' · '.join([text, *extra, *links])}\n"


def link(name: str, path: str, tail: str = "") -> str:
    return f"[{name}]({quote(path)}{tail})"


def _bold(text: str) -> str:
    return text.replace("**", "\\*\\*")


def _html(text: str) -> str:
    """Inside an HTML block markdown is not read: entities, and the same breaks."""
    shown = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    from mirror.escape import visible

    return _ACTS.sub(lambda m: f"{m[0]}<!-- -->", visible(shown))
