"""Recall: from a prompt to the block of memories that the host puts before it."""

from __future__ import annotations

import json
import os
import re
import threading
import time

from console.hook.run import Run, Stop
from console.hook.wire import Failed, bank_path
from console.transcripts import Message, NoTranscript, Transcript, last_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

SECONDS = 10.0
_FLOOR = 5
_TAIL = 4 << 20
# A memory must not end the block, or pose as what a host says.
_TAGS = re.compile(
    r"<(?=/?\s*(?:hindsight_memories|relevant_memories|system-reminder|user-prompt-submit-hook|session-start-hook)\b)",
    re.IGNORECASE,
)


def recall(run: Run) -> str:
    """What to print: "" for nothing. Raises :class:`Stop`."""
    prompt = (run.text("prompt") or run.text("user_prompt")).strip()
    if weight(prompt) < _FLOOR:
        raise Stop
    client = run.client
    config = run.config
    query = composed(run, prompt)
    body: dict[str, Any] = {"query": query, "max_tokens": config["recallMaxTokens"]}
    if config["recallBudget"]:
        body["budget"] = config["recallBudget"]
    if config["recallTypes"]:
        body["types"] = config["recallTypes"]
    first = run.bank
    banks = list(dict.fromkeys([first, *config["recallAdditionalBanks"]]))
    answers: dict[str, list[Mapping[str, Any]]] = {}
    errors: dict[str, Failed] = {}
    seconds = run.timeout(SECONDS)

    def ask(bank: str) -> None:
        try:
            answers[bank] = _results(client.send("POST", bank_path(bank, "/memories/recall"), body, seconds))
        except Failed as error:
            errors[bank] = error

    threads = [threading.Thread(target=ask, args=(bank,), daemon=True) for bank in banks[1:]]
    for thread in threads:
        thread.start()
    ask(first)
    for thread in threads:
        thread.join(max(0.0, run.left(SECONDS)))
    for bank, error in list(errors.items()):
        # A bank that nothing was retained into yet is empty, not broken.
        loud = bank == first and not (error.status == 404 and "not found" in str(error).lower())
        (run.say if loud else run.debug)(f"Recall failed: {error}")
    memories = _distinct(answers, banks)
    if not memories:
        return ""
    text = block(memories, config["recallPromptPreamble"], labelled=first)
    _remember(run, first, text, len(memories))
    # OMO's OpenCode edition (it alone names its hook_source) injects what is printed as it is.
    if run.text("hook_source"):
        return text
    return json.dumps(
        {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}
    )


def weight(prompt: str) -> int:
    """How much a prompt says: a wide character (CJK, emoji) is half a word, so it counts twice."""
    return sum(2 if ord(char) >= 0x2E80 else 1 for char in prompt)


def composed(run: Run, prompt: str) -> str:
    """The query: the prompt, after as many earlier turns as the settings say and as fit."""
    config = run.config
    limit = config["recallMaxQueryChars"]
    path = run.text("transcript_path")
    if config["recallContextTurns"] <= 1 or not path:
        return prompt[:limit] if limit > 0 else prompt
    from pathlib import Path

    try:
        said = _tail(Path(path))
    except NoTranscript as error:
        run.debug(f"Recall without context: {error}")
        said = []
    return with_context(prompt, said, config["recallContextTurns"], config["recallRoles"], limit)


def with_context(prompt: str, said: Sequence[Message], turns: int, roles: Sequence[str], limit: int) -> str:
    """``limit`` characters at most; 0 or less means no limit. The newest lines of the context go first."""
    wanted = roles or ("user", "assistant")
    entries = [
        f"{message.role}: {message.text}"
        for message in last_turns(list(said), turns)
        if message.role in wanted and message.text and not (message.role == "user" and message.text == prompt)
    ]
    if not entries:
        return prompt[:limit] if limit > 0 else prompt
    whole = "\n\n".join(("Prior context:", "\n".join(entries), prompt))
    if limit <= 0 or len(whole) <= limit:
        return whole
    if len(prompt) >= limit:
        return prompt[:limit]
    kept: list[str] = []
    for line in reversed("\n".join(entries).split("\n")):
        if not line.strip():
            continue
        longer = "\n\n".join(("Prior context:", "\n".join((line, *kept)), prompt))
        if len(longer) > limit:
            break
        kept.insert(0, line)
    return "\n\n".join(("Prior context:", "\n".join(kept), prompt)) if kept else prompt


def _tail(path: Path) -> list[Message]:
    """The messages at a transcript's end: a prompt never waits for 200 MB."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # Transcript says what is wrong
    # A start in the middle of a line costs that line, which is no JSON then.
    return list(Transcript(path, start=max(0, size - _TAIL)))


def _results(answer: bytes) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(answer)
    except ValueError as error:
        raise Failed(str(error)) from error
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(results, list):
        raise Failed("the answer holds no results")
    return [item for item in results if isinstance(item, dict) and isinstance(item.get("text"), str)]


def _distinct(
    answers: Mapping[str, list[Mapping[str, Any]]], banks: Sequence[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    seen: set[str] = set()
    found = []
    for bank in banks:
        for item in answers.get(bank, ()):
            text = " ".join(item["text"].split())
            if text and text not in seen:
                seen.add(text)
                found.append((bank, item))
    return found


def block(memories: Sequence[tuple[str, Mapping[str, Any]]], preamble: str, *, labelled: str) -> str:
    """The block. ``memories`` are (bank, memory); those of another bank than ``labelled`` say which."""
    lines = []
    for bank, item in memories:
        line = f"- {shown(item['text'])}"
        for value, form in ((item.get("type"), " [{}]"), (item.get("mentioned_at"), " ({})")):
            if value:
                line += form.format(shown(str(value)))
        lines.append(line if bank == labelled else f"{line} [bank: {shown(bank)}]")
    now = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    return "\n".join(
        (
            "<hindsight_memories>",
            preamble,
            f"Current time - {now} UTC",
            "",
            "\n\n".join(lines),
            "</hindsight_memories>",
        )
    )


def shown(text: str) -> str:
    """A text of the bank inside the block: its own lines indented, our tags and control characters disarmed."""
    text = _TAGS.sub("&lt;", text)
    text = "".join(char if char == "\n" or char.isprintable() else " " for char in text)
    return "\n  ".join(line for line in text.split("\n"))


def _remember(run: Run, bank: str, text: str, count: int) -> None:
    saved = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        os.makedirs(run.store.root, mode=0o700, exist_ok=True)
        run.store.write(
            "last_recall.json", {"context": text, "saved_at": saved, "bank_id": bank, "result_count": count}
        )
    except OSError as error:
        run.debug(f"last_recall.json was not written: {error}")
