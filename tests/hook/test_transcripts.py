"""Transcripts as hosts write them: what was said, and nothing that hosts and tools added."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console.transcripts import (
    LINE_LIMIT,
    Message,
    NoTranscript,
    Transcript,
    clean,
    last_turns,
    marked,
    message_of,
)

CLAUDE: list[dict[str, Any]] = [
    {"type": "summary", "summary": "Old work", "leafUuid": "x"},
    {"type": "user", "sessionId": "s-1", "timestamp": "2026-12-01T09:00:00Z",
     "message": {"role": "user", "content": "Which port does Postgres use?"}},
    {"type": "assistant", "sessionId": "s-1", "timestamp": "2026-12-01T09:00:05Z",
     "message": {"role": "assistant", "content": [
         {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I will look."},
         {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}},
    {"type": "user", "sessionId": "s-1", "timestamp": "2026-12-01T09:00:06Z",
     "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "5433"}]}},
    {"type": "user", "sessionId": "s-1", "isMeta": True, "message": {"role": "user", "content": "Caveat"}},
    {"type": "assistant", "sessionId": "s-1", "timestamp": "2026-12-01T09:00:09Z",
     "message": {"role": "assistant", "content": [{"type": "text", "text": "Port 5433."}]}},
    {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "Summary of before"}},
]  # fmt: skip
CODEX: list[dict[str, Any]] = [
    {"timestamp": "2026-12-01T10:00:00Z", "type": "session_meta", "payload": {"id": "c-9", "cwd": "/srv"}},
    {"timestamp": "2026-12-01T10:00:01Z", "type": "response_item", "payload": {
        "type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]}},
    {"timestamp": "2026-12-01T10:00:01Z", "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "<environment_context>\n<cwd>/srv</cwd>\n</environment_context>"}]}},
    {"timestamp": "2026-12-01T10:00:01Z", "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>be kind</INSTRUCTIONS>"}]}},
    {"timestamp": "2026-12-01T10:00:02Z", "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "Use make migrate."}]}},
    {"timestamp": "2026-12-01T10:00:02Z", "type": "event_msg",
     "payload": {"type": "user_message", "message": "Use make migrate."}},
    {"timestamp": "2026-12-01T10:00:03Z", "type": "response_item",
     "payload": {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"}},
    {"timestamp": "2026-12-01T10:00:04Z", "type": "response_item", "payload": {
        "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noted."}]}},
]  # fmt: skip
OPENCODE: list[dict[str, Any]] = [
    {"type": "user", "timestamp": "2026-12-01T11:00:00Z", "content": "Deploys happen on Tuesday."},
    {"type": "tool_use", "timestamp": "2026-12-01T11:00:01Z", "tool_name": "bash", "tool_input": {}},
    {"type": "tool_result", "timestamp": "2026-12-01T11:00:02Z", "tool_name": "bash", "tool_output": {}},
]


def _file(folder: Path, lines: list[Any]) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _said(path: Path) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in Transcript(path)]


@pytest.mark.parametrize(
    ("lines", "said", "session"),
    [
        (CLAUDE, [("user", "Which port does Postgres use?"), ("assistant", "I will look."), ("assistant", "Port 5433.")], "s-1"),
        (CODEX, [("developer", "rules"), ("user", "Use make migrate."), ("assistant", "Noted.")], "c-9"),
        (OPENCODE, [("user", "Deploys happen on Tuesday.")], None),
        ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], [("user", "a"), ("assistant", "b")], None),
        ([{"type": "user", "role": "user", "content": "both"}], [("user", "both")], None),
    ],
    ids=["claude", "codex", "opencode", "flat", "type-and-role"],
)  # fmt: skip
def test_each_host_s_file_is_read(
    tmp_path: Path, lines: list[Any], said: list[tuple[str, str]], session: str | None
) -> None:
    transcript = Transcript(_file(tmp_path, lines))
    assert [(message.role, message.text) for message in transcript] == said
    assert transcript.session == session
    assert transcript.skipped == 0


def test_the_time_is_the_one_of_speaking(tmp_path: Path) -> None:
    transcript = Transcript(_file(tmp_path, CLAUDE))
    assert [m.at for m in transcript] == [
        "2026-12-01T09:00:00Z", "2026-12-01T09:00:05Z", "2026-12-01T09:00:09Z",
    ]  # fmt: skip
    assert transcript.dated


def test_broken_lines_are_stepped_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'{"role": "user", "content": "caf\xe9"}\n[1]\nnot json\n\n"text"\n{"role": "user", "content": "end"}\n'
    )
    transcript = Transcript(path)
    assert [m.text for m in transcript] == ["caf\ufffd", "end"]
    assert (transcript.skipped, transcript.replaced) == (3, 1)


def test_a_line_still_being_written_is_left_for_the_next_pass(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    whole = b'{"role": "user", "content": "one"}\n'
    path.write_bytes(whole + b'{"role": "user", "con')
    first = Transcript(path)
    assert [m.text for m in first] == ["one"]
    assert first.offset == len(whole)
    path.write_bytes(whole + b'{"role": "user", "content": "two"}\n')
    assert [m.text for m in Transcript(path, start=first.offset)] == ["two"]


def test_a_last_line_without_its_end_counts_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"role": "user", "content": "one"}')
    transcript = Transcript(path)
    assert [m.text for m in transcript] == ["one"]
    assert transcript.offset == path.stat().st_size


@pytest.mark.parametrize("kind", ["missing", "folder", "nul"])
def test_what_is_no_file_is_said(tmp_path: Path, kind: str) -> None:
    path = {"missing": tmp_path / "no", "folder": tmp_path, "nul": Path("/tmp/a\0b")}[kind]
    with pytest.raises(NoTranscript, match=r"is not there|is no file|cannot be read"):
        Transcript(path)


def test_a_huge_line_is_stepped_over(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        file.write('{"role": "user", "content": "before"}\n')
        file.write(json.dumps({"role": "user", "content": "x" * (2 * LINE_LIMIT + 5)}) + "\n")
        file.write('{"role": "user", "content": "after"}\n')
    transcript = Transcript(path)
    assert [m.text for m in transcript] == ["before", "after"]
    assert transcript.skipped == 1
    assert transcript.offset == path.stat().st_size


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks Linux for the peak")
def test_200_megabytes_need_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    tool = json.dumps({"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "content": "y" * 1_000_000}]}}) + "\n"  # fmt: skip
    with path.open("w") as file:
        for index in range(200):
            file.write(tool)
            file.write(json.dumps({"role": "user", "content": f"message {index}"}) + "\n")
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path\n"
        "from console.transcripts import Transcript\n"
        "n = sum(1 for _ in Transcript(Path(sys.argv[1])))\n"
        "print(n, next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), root], capture_output=True, text=True, timeout=60
    )
    count, peak = (int(part) for part in done.stdout.split())
    assert count == 200
    assert peak < 80_000  # KiB


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<hindsight_memories>\n- old\n</hindsight_memories>\nask", "ask"),
        ("<hindsight_memories>\n- note </hindsight_memories> leaked tail\n</hindsight_memories>\nask", "ask"),
        ("a <relevant_memories>z</relevant_memories>b", "a b"),
        ("<system-reminder>do not say</system-reminder>hello", "hello"),
        ("<user-prompt-submit-hook>\n<hindsight_memories>\n- x\n</hindsight_memories>\n</user-prompt-submit-hook>\ngo", "go"),
        ('{"hookSpecificOutput": {"additionalContext": "<hindsight_memories>\\n- x\\n</hindsight_memories>"}}\ngo', "go"),
        ("<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>", ""),
        ("<command-name>/review</command-name><command-args>the port of Postgres</command-args>", "the port of Postgres"),
        ("<local-command-stdout>done</local-command-stdout>", ""),
        ("a < b and <b>bold</b>", "a < b and <b>bold</b>"),
        ('{"hookSpecificOutput" broken', '{"hookSpecificOutput" broken'),
    ],
)  # fmt: skip
def test_only_what_was_said_is_left(text: str, left: str) -> None:
    assert clean(text) == left


def test_two_blocks_keep_what_stands_between() -> None:
    block = "<hindsight_memories>\n- x\n</hindsight_memories>"
    assert clean(f"{block}\nfirst\n{block}\nsecond") == "first\n\nsecond"


def test_turns_are_counted_by_what_the_user_said() -> None:
    said = [
        Message("user", "real"),
        Message("assistant", ""),
        Message("user", ""),
        Message("assistant", "done"),
    ]
    assert last_turns(said, 1) == said
    assert last_turns(said, 0) == []


def test_lines_of_other_kinds_are_no_messages() -> None:
    assert message_of({"type": "user", "message": "text"}) is None
    assert message_of({"type": "event_msg", "payload": {"role": "user", "content": "x"}}) is None
    assert message_of({"role": 5, "content": "x"}) is None
    assert marked([]) == ("", 0)
