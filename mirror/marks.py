"""What reviewers wrote on a page: marks to carry out, and edits that are refused with the line to write instead.

A mark is a line whose look differs from its comment's state, so one page alone says it, whoever committed it and
however it was merged:

==============================  =====================  ==========================
look                            comment says live      comment says retracted
==============================  =====================  ==========================
``- text``                      nothing                restore
``- [x] text``                  nothing (a tick)       restore
``- [ ] text``                  retract                nothing
``- ~~text~~``                  retract                nothing
``- [ ] ~~text~~``              retract                nothing
``- [x] ~~text~~``              refused: which one?    restore (strike may stay)
==============================  =====================  ==========================

Text behind the comment is the reason. A mark counts when the text still hashes to its key. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from mirror.escape import escape, unescape
from mirror.keys import fact_key, fold
from mirror.page import shown_hash
from mirror.parse import ParsedLine, ParsedPage

RETRACT = "retract"
RESTORE = "restore"
ERASE = "erase"

_BOX = re.compile(r"\[([ xX])\](?:\s+|\Z)")
_ODD_BOX = re.compile(r"\[[^\[\]\\]{0,3}\]\s*|\([ xX]\)\s+")
_STRUCK = re.compile(r"(~~?)(.+)\1\Z")
_STATUS = {"active", "retracted", "erased"}
_WORDS = 400
"""Words of an edited line that are tried as the fact with a note behind it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a person asks for. ``key`` None: the whole document."""

    kind: str
    key: str | None
    line: int
    """Of the page, 1-based."""
    text: str = ""
    """The fact as the line shows it."""
    reason: str = ""
    superseded_by: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """An edit that is no mark. ``write``: the exact line to write instead, '' where none can be named."""

    line: int
    """1-based; 0: the line is not on the page any more."""
    what: str
    write: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class PageMarks:
    """In the order of the page."""

    marks: tuple[Mark, ...] = ()
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()
    """What should be said but stops nothing, such as front matter that cannot be read."""


def read(page: ParsedPage, *, document_id: str | None = None, base: ParsedPage | None = None) -> PageMarks:
    """The marks of a page.

    ``document_id``: whose page this is by its path. ``base``: the page as the mirror last wrote it; with it
    deleted and unknown lines are seen, and changed text is answered with the line as it was.
    """
    if page.conflicts:
        what = "a merge conflict was committed: nothing on this page counts until it is resolved"
        return PageMarks(refused=tuple(Refused(line, what) for line in page.conflicts))
    front = page.front
    if front is not None and document_id is not None and front.get("document", document_id) != document_id:
        what = f"this page is of another document ({front.get('document')!r}): nothing on it counts"
        return PageMarks(refused=(Refused(1, what, f"document: {document_id!r}"),))
    known = {line.key: line for line in base.lines} if base else {}
    counts = Counter(line.key for line in page.lines)
    marks: list[Mark] = []
    refused: list[Refused] = []
    for line in page.lines:
        was = known.get(line.key)
        verdict: Mark | Refused | None
        if line.comments > 1:
            verdict = Refused(line.number, "two facts stand on one line", was.source if was else "", line.key)
        elif counts[line.key] > 1:
            verdict = Refused(
                line.number,
                "this fact stands on the page more than once: keep one of the lines",
                was.source if was else "",
                line.key,
            )
        elif base is not None and was is None:
            verdict = Refused(
                line.number, "the page never had a fact with this key: take the line out", "", line.key
            )
        else:
            verdict = _judge(line, was)
        if isinstance(verdict, Mark):
            marks.append(verdict)
        elif verdict is not None:
            refused.append(verdict)
    refused += _loose(page, known, counts)
    told = {item.key for item in refused}
    refused += [
        Refused(
            0,
            "a fact's line was deleted, which takes nothing back: put the line again, with `[ ]` before it",
            _take_back(was) if not was.retracted else was.source,
            key,
        )
        for key, was in known.items()
        if key not in counts and key not in told
    ]
    whole, problems, notes = _status(page, base)
    if whole is not None and whole.kind != RESTORE:
        ticked = [mark for mark in marks if mark.kind == RESTORE]
        refused += [
            Refused(
                m.line,
                "the whole document is being taken back: this line cannot be restored",
                "",
                m.key or "",
            )
            for m in ticked
        ]
        marks = [mark for mark in marks if mark.kind != RESTORE]
    refused += problems
    return PageMarks(
        marks=(*([whole] if whole else []), *marks),
        refused=tuple(sorted(refused, key=lambda item: (item.line == 0, item.line))),
        notes=notes,
    )


def _judge(line: ParsedLine, was: ParsedLine | None) -> Mark | Refused | None:
    body, note = line.body, line.note
    if body.startswith("~~") and note.startswith("~~"):
        # The comment was struck along with its fact.
        body, note = f"{body}~~", note[2:].strip()
    box: str | None = None
    rest = body
    if not _matches(line, body):
        found = _BOX.match(body)
        if found:
            box, rest = found[1], body[found.end() :]
        elif odd := _ODD_BOX.match(body):
            plain = body[odd.end() :]
            inner = _unstruck(plain)
            if _matches(line, plain) or (inner is not None and _matches(line, inner)):
                text = plain if inner is None or _matches(line, plain) else inner
                return Refused(
                    line.number,
                    f"`{odd[0].strip()}` is no mark: `[ ]` takes a fact back, `[x]` restores it",
                    _as_box(line, text, note),
                    line.key,
                )
    struck = False
    text = rest
    if not _matches(line, rest):
        inner = _unstruck(rest)
        if inner is None or not _matches(line, inner):
            return _changed(line, was, rest, note)
        struck, text = True, inner
    if not line.retracted and box in ("x", "X") and struck:
        return Refused(
            line.number,
            "ticked and struck: take out the strike to keep the fact, or write",
            _as_box(line, text, note),
            line.key,
        )
    gone = box == " " or (box is None and struck)
    reason = unescape(note)
    if gone != line.retracted:
        return Mark(RETRACT if gone else RESTORE, line.key, line.number, unescape(text), reason)
    if not gone and note:
        return Refused(
            line.number,
            "a reason without a mark: did you mean to take the fact back?",
            _as_box(line, text, note),
            line.key,
        )
    return None


def _matches(line: ParsedLine, markdown: str) -> bool:
    text = unescape(markdown)
    return shown_hash(fold(text)) == line.shown_hash if line.shown_hash else fact_key(text) == line.key


def _unstruck(markdown: str) -> str | None:
    match = _STRUCK.match(markdown)
    return match[2].strip() if match else None


def _as_box(line: ParsedLine, markdown: str, note: str) -> str:
    return " ".join(part for part in ("- [ ]", markdown, line.comment, note) if part)


def _take_back(was: ParsedLine) -> str:
    return f"- [ ] {was.body} {was.comment}"


def _changed(line: ParsedLine, was: ParsedLine | None, rest: str, note: str) -> Refused:
    """Why the text does not hash to its key, as far as that can be told."""
    bare = rest.replace("~~", "")
    if "~~" in rest and _matches(line, bare):
        return Refused(
            line.number,
            "only a part is struck: a fact is taken back as a whole",
            _as_box(line, escape(unescape(bare)), note),
            line.key,
        )
    if not line.shown_hash:
        words = fold(unescape(bare)).split(" ")
        for count in range(min(len(words) - 1, _WORDS), 0, -1):
            fact = " ".join(words[:count])
            if fact_key(fact) == line.key:
                reason = " ".join(words[count:]).strip("~ ")
                return Refused(
                    line.number,
                    "the note stands before the comment: a reason goes behind it",
                    _as_box(line, escape(fact), " ".join(part for part in (escape(reason), note) if part)),
                    line.key,
                )
    if was is None:
        what = "the fact's text was changed, which changes nothing in the bank: put the old text back, and take it back with `[ ]`"
        return Refused(line.number, what, "", line.key)
    what = "the fact's text was changed, which changes nothing in the bank: to take it back write"
    return Refused(line.number, what, was.source if was.retracted else _take_back(was), line.key)


def _loose(page: ParsedPage, known: dict[str, ParsedLine], counts: Counter[str]) -> list[Refused]:
    """Items whose comment is gone or damaged, found again by their text."""
    refused = []
    for item in page.loose:
        body = item.body.split("<!--")[0].strip()
        box = _BOX.match(body)
        plain = body[box.end() :] if box else body
        text = unescape(_unstruck(plain) or plain)
        was = known.get(fact_key(text))
        if was is not None and was.key not in counts:
            what = "the comment behind this fact was taken out or damaged: put it back"
            refused.append(Refused(item.number, what, _take_back(was) if box else was.source, was.key))
        elif item.damaged:
            refused.append(
                Refused(
                    item.number, "the comment behind this fact is damaged: take the line from git history"
                )
            )
        else:
            what = "a line without a fact's comment says nothing to the bank: new knowledge goes to inbox/"
            refused.append(Refused(item.number, what))
    return refused


def _status(page: ParsedPage, base: ParsedPage | None) -> tuple[Mark | None, list[Refused], tuple[str, ...]]:
    front = page.front
    if front is None:
        return None, [], (f"{page.front_problem}; marks are read from the list, nothing from `status`",)
    status = front.get("status")
    if status is None:
        return None, [], ("`status` is missing: nothing is read from it",)
    if status not in _STATUS:
        what = f"`status: {status!r}` is not known: active, retracted or erased"
        return None, [Refused(1, what, f'status: "{_written(page, base)}"')], ()
    written = _written(page, base)
    if status == written:
        return None, [], ()
    kind = {"active": RESTORE, "retracted": RETRACT, "erased": ERASE}[status]
    reason = _word(front.get("reason"))
    if base is not None and base.front is not None and reason == _word(base.front.get("reason")):
        # The reason of the retraction that stands there is none for what is asked now.
        reason = ""
    mark = Mark(kind, None, 1, page.title, reason, _word(front.get("superseded_by")))
    return mark, [], ()


def _written(page: ParsedPage, base: ParsedPage | None) -> str:
    """The status that the mirror wrote: by the base, else by the states in the comments."""
    if base is not None and base.front is not None and base.front.get("status") in _STATUS:
        return str(base.front["status"])
    if page.front is not None and page.front.get("retracted"):
        return "retracted"
    return "retracted" if page.lines and all(line.retracted for line in page.lines) else "active"


def _word(value: Any) -> str:
    return fold(value) if isinstance(value, str) else ""
