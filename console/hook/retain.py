"""Retain: what was said since the last time goes to the spool as one segment, and from there to the bank.

A segment holds only messages that no earlier segment of this transcript holds, and is never written again: the first
is named as the session, later ones ``<session>-<8 hex of their first message>``, those of a sub-agent
``<session>-<agent>``. So neither compaction nor a sub-agent can put one text in another's place.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

from console.hook.run import Run
from console.hook.wire import Failed, bank_path
from console.transcripts import Message, NoTranscript, Transcript, last_turns, marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SECONDS = 15.0
SEGMENT_LIMIT = 200_000
"""Characters of one segment: a long first read becomes several."""
UNSENT_LIMIT = 24_000
"""So many unsent characters are retained whatever the number of turns."""
UNSENT_SECONDS = 1800.0
_REFUSED = (400, 413, 422)
_POLLED = 5
_ATTEMPTS = 3
_ACCEPTED_SECONDS = 7 * 86400.0


class Segment:
    """What would be retained: an item of the API and the keys of its messages."""

    def __init__(self, item: dict[str, Any], keys: list[str]) -> None:
        self.item = item
        self.keys = keys


def retain(run: Run, *, force: bool = False) -> None:
    """Spool what is due, then send what the spool holds. Raises :class:`Stop`, OSError."""
    path = _path(run)
    force = force or path != run.text("transcript_path")
    run.require_server()  # with an address that is none, nothing is read or counted
    if path:
        with run.store.lock("retain.lock", run.left(5.0)) as lock:
            if lock.held:
                try:
                    collect(run, path, force=force)
                except NoTranscript as error:
                    run.debug(f"Nothing to retain: {error}")
            else:
                run.debug("another hook is reading; the next one goes on from there")
    send(run)


def _path(run: Run) -> str:
    """The sub-agent's own transcript where the host names it."""
    own = run.text("agent_transcript_path")
    if run.text("hook_event_name") == "SubagentStop" and own and os.path.isfile(own):
        return own
    return run.text("transcript_path")


def collect(run: Run, path: str, *, force: bool, dry: bool = False) -> list[Segment]:
    """Read on from where the last run ended; spool what is due. ``dry``: only say what would be retained.

    Raises NoTranscript, OSError (nothing counts as seen then).
    """
    real = os.path.realpath(path)
    session = run.text("session_id")
    # A session without an id is named by its file: two of them never share a document.
    key = _hash(f"{session}\0{real}")
    name = f"sessions/{key}"
    state = run.store.read(f"{name}.json")
    seen = run.store.lines(f"{name}.seen")
    sent = 0
    if not isinstance(state.get("segments"), int):
        state = {"segments": 0, "since": None}
    overlap: list[Message] = []
    turns_back = run.config["retainOverlapTurns"] if run.config["retainMode"] == "chunked" else 0
    start = state.get("offset") if turns_back <= 0 else None
    # Read on only in a file that still holds what was read: a rewritten one is compared from its beginning.
    start = start if isinstance(start, int) and state.get("tail") == _tail(path, start) else 0
    transcript = Transcript(Path(path), start=start)
    transcript.session = state.get("session")
    every = max(1, run.config["retainEveryNTurns"])
    fresh: list[tuple[str, Message]] = []
    size = 0
    counts: dict[str, int] = {}
    found: list[Segment] = []

    def mark_read() -> None:
        # Without times, a repeated message is told from the first only by counting from the beginning.
        if transcript.dated:
            state["offset"], state["tail"] = transcript.offset, _tail(path, transcript.offset)

    def close() -> None:
        nonlocal fresh, size
        segment = _segment(run, state, fresh, overlap, transcript, real, dry)
        if segment is not None:
            found.append(segment)
            if not dry:
                spool(run, segment)
            state["segments"] += 1
        if not dry:
            run.store.append(f"{name}.seen", "".join(f"{k}\n" for k, _ in fresh))
        mark_read()
        fresh, size = [], 0

    for message in transcript:
        base = f"{message.role}\0{message.text}\0"
        if message.at is None:
            counts[base] = counts.get(base, 0) + 1
            mark = _hash(f"{base}#{counts[base]}")
        else:
            mark = _hash(base + message.at)
        if mark in seen:
            sent += 1
            if turns_back > 0:
                overlap = last_turns([*overlap, message], turns_back)
            continue
        seen.add(mark)
        fresh.append((mark, message))
        size += len(message.text)
        if size >= SEGMENT_LIMIT:
            close()
    if transcript.skipped or transcript.replaced:
        run.debug(
            f"{transcript.path}: {transcript.skipped} lines stepped over, {transcript.replaced} with bytes that are no UTF-8"
        )
    state["session"] = transcript.session
    if not fresh:
        mark_read()
    now = time.time()
    state["since"] = (state.get("since") or now) if fresh else None
    turns = sum(1 for _, message in fresh if message.role == "user")
    due = (
        force or turns >= every or size >= UNSENT_LIMIT or (fresh and now - state["since"] >= UNSENT_SECONDS)
    )
    if fresh and due:
        close()
        state["since"] = None
    if not dry:
        run.store.write(f"{name}.json", state)
        run.store.evict(key)
    return found


def _tail(path: str, end: int) -> str:
    """A fingerprint of the bytes before ``end``; "" where the file is shorter."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, end - 256))
            data = file.read(min(256, end))
    except OSError:
        return ""  # Transcript says what is wrong
    return hashlib.sha256(data).hexdigest()[:16] if len(data) == min(256, end) else ""


def _segment(
    run: Run,
    state: Mapping[str, Any],
    fresh: list[tuple[str, Message]],
    overlap: list[Message],
    transcript: Transcript,
    real: str,
    dry: bool,
) -> Segment | None:
    keys = [key for key, _ in fresh]
    messages = [message for _, message in fresh]
    roles = run.config["retainRoles"]
    content, count = marked([*overlap, *messages], roles)
    if not count or not marked(messages, roles)[1]:
        return None
    session = run.text("session_id") or transcript.session or f"{Path(real).stem}-{_hash(real)[:8]}"
    document = session
    agent = run.text("agent_id")
    if real == _agent_path(run):
        document = f"{session}-{agent or _hash(real)[:8]}"
    elif not _claim(run, session, real, dry):
        document = f"{session}-{_hash(real)[:8]}"
    if state["segments"]:
        document = f"{document}-{keys[0][:8]}"
    bank = run.bank
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def filled(text: object) -> str:
        made = str(text)
        for name, value in (
            ("{session_id}", session),
            ("{bank_id}", bank),
            ("{timestamp}", now),
            ("{user_id}", run.environ.get("HINDSIGHT_USER_ID", "")),
        ):
            made = made.replace(name, value)
        return made

    metadata = {"retained_at": now, "message_count": str(count), "session_id": session}
    metadata.update({str(k): filled(v) for k, v in run.config["retainMetadata"].items()})
    item: dict[str, Any] = {"content": content, "document_id": document, "metadata": metadata}
    if run.config["retainContext"]:
        item["context"] = run.config["retainContext"]
    tags = [tag for tag in map(filled, run.config["retainTags"]) if ":" not in tag or tag.split(":", 1)[1]]
    if tags:
        item["tags"] = tags
    spoken = [message.at for message in messages if message.at]
    if spoken and _is_time(spoken[-1]):
        item["timestamp"] = spoken[-1]
    return Segment(item, keys)


def _is_time(text: str) -> bool:
    from datetime import datetime

    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False  # the server would refuse the whole segment for it
    return True


def _agent_path(run: Run) -> str | None:
    path = run.text("agent_transcript_path")
    return os.path.realpath(path) if path else None


def _claim(run: Run, session: str, real: str, dry: bool) -> bool:
    """Whether this transcript is the one that is named as its session: the first one that was seen."""
    name = f"claims/{_hash(session)}.json"
    owner = run.store.read(name).get("transcript")
    if owner is None and not dry:
        run.store.write(name, {"transcript": real})
    return owner in (None, real)


def spool(run: Run, segment: Segment) -> None:
    """Keep a segment until the server has it. On disk when this returns. Raises OSError."""
    body = {"items": [segment.item], "async": True}
    bank = run.bank
    digest = _hash(json.dumps([bank, segment.item["document_id"], segment.item["content"]]))
    run.store.write(
        f"spool/{time.time_ns():020d}-{digest[:8]}.json",
        {"state": "pending", "url": run.config["hindsightApiUrl"], "bank": bank, "body": body, "attempt": 0},
        sync=True,
    )


def send(run: Run) -> None:
    """Send the spool in order, until it is empty, something fails or the time ends."""
    if not run.store.names("spool"):
        return
    with run.store.lock("send.lock", run.left(5.0)) as lock:
        if not lock.held:
            return
        polled = 0
        for name, entry in run.store.entries("spool"):
            if run.left(SECONDS) < 0.2:
                return
            if entry.get("url") != run.config["hindsightApiUrl"]:
                run.debug(f"{name} waits for {entry.get('url')}")
                continue
            if entry.get("state") == "accepted":
                polled += 1
                if polled > _POLLED or not _must_repeat(run, name, entry):
                    continue
            if not _post(run, name, entry):
                return


def operation_id(entry: Mapping[str, Any]) -> str:
    """The same for the same payload, so that a repeat is no second retain; another after a failed one."""
    digest = hashlib.sha256(
        json.dumps([entry["bank"], entry["body"]["items"], entry.get("attempt", 0)], sort_keys=True).encode(
            "utf-8", "surrogatepass"
        )
    ).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _post(run: Run, name: str, entry: dict[str, Any]) -> bool:
    """Whether to go on with the next one."""
    body = {**entry["body"], "operation_id": operation_id(entry)}
    try:
        answer = run.client.send("POST", bank_path(entry["bank"], "/memories"), body, run.timeout(SECONDS))
    except Failed as error:
        run.say(f"Retain failed: {error}")
        if error.status in _REFUSED:
            run.store.move(name, "rejected")
            return True
        return False
    try:
        found = json.loads(answer) if answer else {}
    except ValueError as error:
        # 200 with a page of HTML is a login page or a proxy: nothing says that the server has it.
        run.say(f"Retain failed: {error}")
        return False
    operation = found.get("operation_id") if isinstance(found, dict) else None
    if isinstance(operation, str) and operation:
        run.store.write(name, {**entry, "state": "accepted", "operation": operation, "at": time.time()})
    else:
        run.store.remove(name)
    return True


def _must_repeat(run: Run, name: str, entry: dict[str, Any]) -> bool:
    """Look after an accepted segment. True when it must be sent again (its state is then pending)."""
    path = bank_path(entry["bank"], f"/operations/{entry['operation']}")
    try:
        found = json.loads(run.client.send("GET", path, None, run.left(2.0)))
    except Failed as error:
        if error.status in (404, 405, 501) or time.time() - entry.get("at", 0) > _ACCEPTED_SECONDS:
            run.store.remove(name)
        return False
    except ValueError:
        return False
    status = found.get("status") if isinstance(found, dict) else None
    if status == "completed":
        run.store.remove(name)
    elif status in ("failed", "cancelled", "not_found"):
        entry["attempt"] = entry.get("attempt", 0) + 1
        if entry["attempt"] >= _ATTEMPTS:
            run.say(
                f"{entry['body']['items'][0]['document_id']}: the server failed to extract it {_ATTEMPTS} times"
            )
            run.store.move(name, "rejected")
            return False
        entry["state"] = "pending"
        run.store.write(name, entry)
        return True
    return False


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
