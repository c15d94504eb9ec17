"""``console hook EVENT``: what a harness runs at its events, JSON on stdin. Standard library only.

============== ========================== ======= ================================================================
event          host's event               seconds does
============== ========================== ======= ================================================================
session-start  SessionStart               4       says when the server is not there; sends what the spool holds
recall         UserPromptSubmit           10      prints the block of memories
retain         Stop, SubagentStop         13      spools and sends what is due
session-end    SessionEnd                 8       the same with everything unsent
============== ========================== ======= ================================================================

Exit code: **0, whatever happens**, because 2 blocks a prompt or a stop in most hosts; 1 after an unexpected error with
``debug`` on; 64 for a wrong command line. stdout: only recall's answer. stderr: lines that begin ``[Hindsight] ``.

Kept from OMO's own scripts: settings, precedence, environment, bank ids, queries, block, mode and tag templates.
Done better (numbers of the behaviour reference):

O1, O24  segments of unseen messages, never written again     O2   a sub-agent's transcript has its own document
O3       a turn is something that the user said               O4-6 spool first; due by turns, size, age, session end
O7       no session id: named by the transcript's path        O8   bad lines and bytes are stepped over
O9, O10  state by last use, damaged files moved aside         O11  locks, names of their own for temporary files
O12, O13 missions only where none is set, off the recall path O14  one deadline for a whole hook
O15      redirects are refused                                O16  success is the status; the operation is followed
O17, O18 the block is escaped, and stripped with its wrappers O19  the repository's own folder, without running git
O20      wide characters count twice; 0 is unlimited          O21  extra banks at once, labelled, without repeats
O22      observations are recalled                            O23  wrong settings are left out and listed
O25      reminders and wrappers are left out; files 0600      O27  the time of speaking
O28      session-start tells 401 and 503 from unreachable     O29  0 seconds is no timeout; loopback has no proxy
O30      an operation id made from the payload

Kept as they are: O26 (``retainToolCalls`` has no effect; it is said), of O19 the collision of two folders with one
name (a hash would give every existing user a new bank), of O28 that the token is not tried.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

EVENTS = {"session-start": 4.0, "recall": 10.0, "retain": 13.0, "session-end": 8.0}
_OPTIONS = {"--harness": "harness", "--url": "hindsightApiUrl", "--bank": "bankId"}
USAGE = "usage: console hook session-start|recall|retain|session-end [--harness omo|claude-code|codex] [--url URL] [--bank ID]"


def main(argv: Sequence[str]) -> int:
    """Run one hook on the JSON of stdin; the exit code."""
    if "--help" in argv or "-h" in argv:
        sys.stdout.write(USAGE + "\n")
        return 0
    from console.hook.config import HARNESSES, load

    given: dict[str, Any] = {}
    words = iter(argv)
    events = []
    for word in words:
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            given[_OPTIONS[name]] = value if equals else next(words, "")
        else:
            events.append(word)
    harness = given.pop("harness", "omo")
    if len(events) != 1 or events[0] not in EVENTS or harness not in HARNESSES or "" in given.values():
        sys.stderr.write(f"console: {USAGE}\n")
        return 64
    if given.get("bankId"):
        given.update(dynamicBankId=False, directoryBankMap={}, bankIdPrefix="")
    config = load(harness, given=given)
    from console.hook.run import say

    try:
        _run(events[0], config)
    except KeyboardInterrupt:
        return 0
    except Exception as error:  # noqa: BLE001 - the host must go on; what happened is said
        say(f"Unexpected error in {events[0]}: {type(error).__name__}: {error}")
        return 1 if config["debug"] else 0
    return 0


def _run(event: str, config: Any) -> None:
    from console.hook.run import Run, Stop, read_event, say
    from console.hook.wire import Failed

    if event == "recall" and not config["autoRecall"]:
        return
    if event in ("retain", "session-end") and not config["autoRetain"]:
        return
    if event == "session-start" and not (config["autoRecall"] or config["autoRetain"]):
        return
    try:
        given = read_event(2.0)
    except Failed as error:
        if event in ("recall", "retain"):
            say("Failed to read hook input")
            return
        if config["debug"]:
            say(f"Failed to read hook input: {error}")
        given = {}
    run = Run(config, given, EVENTS[event])
    for line in config.problems:
        run.debug(line)
    try:
        if event == "recall":
            from console.hook.recall import recall

            sys.stdout.write(recall(run))
            sys.stdout.flush()
        elif event == "session-start":
            _session_start(run)
        else:
            from console.hook.retain import retain

            if event == "retain" or run.text("transcript_path"):
                retain(run, force=event == "session-end")
    except Stop:
        return


def _session_start(run: Any) -> None:
    from console.hook.mission import ensure
    from console.hook.retain import send
    from console.hook.wire import Client, Failed, Invalid

    url = run.config["hindsightApiUrl"]
    if not url:
        return
    if run.cloud_without_token():
        run.say(
            "Warning: Using Hindsight Cloud but no API key set. Set HINDSIGHT_API_TOKEN or hindsightApiToken in "
            f"~/.hindsight/{run.config.harness}.json"
        )
        return
    try:
        Client(url, None, "check")
    except Invalid as error:
        run.debug(f"Invalid API URL: {error}")
        return
    try:
        status, _ = run.client.call("GET", "/health", None, run.left(3.0))
    except Failed:
        run.say(f"Server not reachable at {url}")
        return
    if status != 200:
        run.say(f"Server at {url} answered {status}")
        return
    send(run)
    if run.left(3.0) > 0.2:
        ensure(run)
