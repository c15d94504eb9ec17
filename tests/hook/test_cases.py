"""The behaviour cases of OMO's own scripts, against the hook.

``compat-cases.jsonl`` says what those scripts do, faults included. A case that is named in ``BETTER`` shows a fault;
its reason and the right result stand there. All others must come out equal. The cases of Omnigent are about its own
client, which speaks to the seam: they are not run here.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import urllib.parse
from contextlib import redirect_stderr
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from console.hook.bank import bank_id
from console.hook.config import Config, load
from console.hook.run import say
from console.transcripts import Message, last_turns, marked, message_of
from tests.hook.conftest import Answer, Harness, Stub

CASES = {
    case["id"]: case
    for line in Path(__file__).with_name("compat-cases.jsonl").read_text().splitlines()
    if (case := json.loads(line))["system"] == "omo"
}
TYPES = ["world", "experience", "observation"]  # O22: what was consolidated is recalled too
BETTER: dict[str, Any] = {
    "OMO-B10": "omo::app",  # O19: a slash at the end is no empty project
    "OMO-B11": "omo::unknown",  # O19
    "OMO-B19": "omo::main-repo",  # O19: GIT_DIR of whoever started the agent is not the project
    "OMO-S06": [0, 1, 2, 3],  # O3: the result of a tool is no turn
    "OMO-R09": ("[role: user]\nask\n[user:end]", 1),  # O17: a memory's own closing tag leaks nothing
}


def _kind(kind: str) -> list[str]:
    return sorted(name for name, case in CASES.items() if case["kind"] == kind)


def test_every_kind_of_case_is_tested() -> None:
    assert {case["kind"] for case in CASES.values()} == {
        "config-merge", "bank-id", "turn-slicing", "retain-transcript", "recall-query", "recall-output",
        "document-id", "tags-metadata", "bank-mission", "degrade",
    }  # fmt: skip
    assert set(BETTER) <= set(CASES)


@pytest.mark.parametrize("name", _kind("config-merge"))
def test_settings(name: str, tmp_path: Path) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]["config_subset"]
    environ = {"HOME": str(tmp_path), **given.get("env", {})}
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    if "PLUGIN_ROOT" not in environ:
        environ["PLUGIN_ROOT"] = str(plugin)
        text = given.get("settings_raw") or json.dumps(given.get("settings_json", {}))
        (plugin / "settings.json").write_text(text)
    if "user_json" in given:
        (tmp_path / ".hindsight").mkdir()
        (tmp_path / ".hindsight" / "omo.json").write_text(json.dumps(given["user_json"]))
    config = load("omo", environ=environ)
    if "recallTypes" in expected:
        expected["recallTypes"] = TYPES
    assert {key: config.get(key) for key in expected} == expected
    if name == "OMO-C09":
        assert "settings.json was left out" in config.problems[0]


def _repositories(root: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words],
            cwd=root,
            check=True,
            capture_output=True,
        )

    git("init", "-q", "main-repo")
    git("-C", "main-repo", "commit", "-q", "--allow-empty", "-m", "x")
    git("-C", "main-repo", "worktree", "add", "-q", "../wt-feature")
    git("init", "-q", "--bare", "bare.git")
    git("init", "-q", "super")
    git(
        "-C",
        "super",
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(root / "main-repo"),
        "part",
    )
    (root / "main-repo" / "deep" / "down").mkdir(parents=True)


@pytest.mark.parametrize("name", _kind("bank-id"))
def test_bank_ids(name: str, tmp_path: Path) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    event = dict(given["hook_input"])
    if "setup" in given:
        _repositories(tmp_path)
        event["cwd"] = event["cwd"].replace("<W>", str(tmp_path))
    environ = {k: v.replace("<W>", str(tmp_path)) for k, v in given.get("env", {}).items()}
    config = Config()
    config.update(given["config"])
    errors = io.StringIO()
    with redirect_stderr(errors):
        found = bank_id(config, event, environ, say)
    assert found == BETTER.get(name, expected["bank_id"])
    if name not in BETTER and "url_segment" in expected:
        assert urllib.parse.quote(found, safe="") == expected["url_segment"]
    assert errors.getvalue() == expected.get("stderr", "")


@pytest.mark.parametrize(
    ("folder", "project"),
    [("main-repo/deep/down", "main-repo"), ("super/part", "part"), ("super", "super"), ("bare.git", "bare"),
     ("bare.git/refs", "bare"), (".", None)],
)  # fmt: skip
def test_projects_are_named_as_their_own_repository(tmp_path: Path, folder: str, project: str | None) -> None:
    _repositories(tmp_path)
    config = Config()
    config["dynamicBankId"] = True
    found = bank_id(config, {"cwd": str(tmp_path / folder)}, {}, say)
    assert found == f"omo::{project or tmp_path.name}"


def _message(record: dict[str, Any]) -> Message:
    message = message_of(record)
    assert message is not None
    return message


@pytest.mark.parametrize("name", _kind("turn-slicing"))
def test_turns(name: str) -> None:
    given = CASES[name]["input"]
    messages = [_message(record) for record in given["messages"]]
    kept = last_turns(messages, given["turns"])
    indexes = [index for index, message in enumerate(messages) if any(message is one for one in kept)]
    assert indexes == BETTER.get(name, CASES[name]["expected"]["kept_indexes"])


@pytest.mark.parametrize("name", _kind("retain-transcript"))
def test_texts(name: str) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    messages = [_message(record) for record in given["messages"]]
    if not given["full"]:
        messages = last_turns(messages, 1)
    found = marked(messages, given.get("retain_roles", ("user", "assistant")))
    assert found == BETTER.get(name, (expected["transcript"] or "", expected["message_count"]))


@pytest.mark.parametrize("name", _kind("recall-query"))
def test_queries(name: str, harness: Harness, stub: Stub) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    harness.settings.update(given.get("config", {}))
    event = dict(given["hook_input"])
    if "transcript" in given:
        harness.write(given["transcript"])
        event["transcript_path"] = str(harness.transcript)
    done = harness.run("recall", event)
    assert (done.code, done.out, done.err) == (expected["exit"], expected["stdout"], "")
    wanted = [{**body, "types": TYPES} for body in expected["requests"]]
    if name == "OMO-Q04":  # O20: four Chinese characters are two words
        wanted = [{"query": event["prompt"], "max_tokens": 1024, "budget": "mid", "types": TYPES}]
    assert [body for _, _, body, _ in stub.requests] == wanted


@pytest.mark.parametrize("name", _kind("recall-output"))
def test_blocks(name: str, harness: Harness, stub: Stub) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    harness.settings.update(given["config"])
    stub.results = given["recall_results"]
    done = harness.run("recall")
    assert (done.code, done.err) == (0, "")
    wanted = json.dumps(expected["stdout_json"]) if expected["stdout_json"] else ""
    count = (expected["last_recall_json"] or {}).get("result_count")
    if name in ("OMO-O04", "OMO-O06"):  # O21: other banks are named, and nothing is said twice
        wanted = wanted.replace("- T\\n\\n- T", "- T").replace("- T", "- T [bank: team]")
        count = 2
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "<NOW> UTC", done.out) == wanted
    called = [urllib.parse.unquote(path.split("/")[4]) for _, path, _, _ in stub.requests]
    assert sorted(called) == sorted(set(expected["banks_called"]))
    kept = harness.state / "last_recall.json"
    if count is None:
        assert not kept.exists()
    else:
        found = json.loads(kept.read_text())
        assert (found["bank_id"], found["result_count"]) == (
            called[0] if len(set(called)) == 1 else expected["last_recall_json"]["bank_id"],
            count,
        )


# (document ids, first lines) of each step, where O1, O4, O7 and O24 ask for another result: only what is new is sent.
_STEPS: dict[str, list[list[tuple[str, str]]]] = {
    "OMO-D02": [[("sess-1", "question number 1")], [], [], [("sess-1-*", "question number 6")]],
    "OMO-D05": [[], [], [("sess-1", "question number 1")], [], [], [("sess-1-*", "question number 4")]],
    "OMO-D09": [[("t-*", "question number 1")], [("t-*-*", "question number 2")]],
    "OMO-D10": [[], [("sess-1", "question number 1")], [("sess-1", "question number 1")], [("sess-1-*", "question number 3")]],
}  # fmt: skip


@pytest.mark.parametrize("name", _kind("document-id"))
def test_documents(name: str, harness: Harness, stub: Stub) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    harness.settings.update(given.get("config", {}))
    failures = 1 if "server" in given else 0

    def answer(method: str, path: str, body: Any) -> Answer:
        nonlocal failures
        failures -= 1
        return (500 if failures >= 0 else 200), {}, b"{}"

    stub.answer = answer
    found = []
    for step in given["steps"]:
        before = len(stub.items())
        harness.write(step["transcript"])
        event = (
            {"session_id": None}
            if step.get("no_session")
            else {"session_id": given["hook_session_id_default"]}
        )
        assert harness.run(step["script"], event).code == 0
        found.append(
            [(item["document_id"], item["content"].split("\n")[1]) for item in stub.items()[before:]]
        )
    wanted = _STEPS.get(
        name,
        [
            [(post["document_id"], post["first_line"]) for post in posts]
            for posts in expected["posts_per_step"]
        ],
    )
    assert [len(step) for step in found] == [len(step) for step in wanted]
    for have, want in zip(chain(*found), chain(*wanted), strict=True):
        assert re.fullmatch(re.escape(want[0]).replace(r"\*", "[0-9a-f]{8}"), have[0])
        assert have[1] == want[1]


@pytest.mark.parametrize("name", _kind("tags-metadata"))
def test_tags(name: str, harness: Harness, stub: Stub) -> None:
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    harness.settings.update(given["config"])
    harness.write([{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}])
    done = harness.run("retain", given["hook_input"])
    assert (done.code, done.err) == (0, "")
    item = stub.items()[0]
    if name == "OMO-T06":  # a number is a tag like any other, not the end of the retain
        assert item["tags"] == ["1"]
        return
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", item["metadata"].pop("retained_at"))
    expected["item"]["metadata"].pop("retained_at")
    del item["content"]
    assert item == expected["item"]


def test_a_mission_is_sent_once_and_never_by_a_recall(harness: Harness, stub: Stub) -> None:
    """M01, better (O12, O13): off the recall path, and a changed mission is noticed."""
    harness.settings |= {"bankMission": "M1", "retainMission": "R1"}
    harness.run("recall")
    assert [path for path in stub.paths() if "config" in path] == []
    harness.run("session-start")
    harness.run("session-start")
    harness.environ = {"HINDSIGHT_BANK_ID": "other", "HINDSIGHT_BANK_MISSION": "M3"}
    harness.run("session-start")
    patches = [[path, body] for method, path, body, _ in stub.requests if method == "PATCH"]
    assert patches == CASES["OMO-M01"]["expected"]["patches"]


def test_a_mission_that_fails_is_not_tried_at_every_hook(harness: Harness, stub: Stub) -> None:
    """M02, better (O13)."""
    harness.settings |= {"bankMission": "M1", "retainMission": ""}
    stub.answer = lambda method, path, body: (
        (500, {}, b"{}") if method == "PATCH" else stub.usual(method, path, body)
    )
    assert [harness.run("session-start").err for _ in range(2)] == CASES["OMO-M02"]["expected"]["stderr"]
    bodies = [body for method, _, body, _ in stub.requests if method == "PATCH"]
    assert bodies == [CASES["OMO-M02"]["expected"]["patch_body"]]


def test_a_mission_that_a_person_set_stays(harness: Harness, stub: Stub) -> None:
    """O12."""
    harness.settings |= {"bankMission": "M1"}
    stub.answer = lambda *_: (200, {}, b'{"config": {"reflect_mission": "mine"}}')
    harness.run("session-start")
    assert [path for path in stub.paths() if path.startswith("PATCH")] == []


_LAST = "[Hindsight] "
# What is said otherwise, and why.
_SAID: dict[tuple[str, str], str] = {
    ("DEG-O07", "retain"): "",  # O16: success is the status
    (
        "DEG-O09",
        "retain",
    ): "[Hindsight] Retain failed: HTTP 301 from <URL>/v1/default/banks/omo/memories: {}",  # O15
    ("DEG-O15", "retain"): "",  # O8
    ("DEG-O21", "retain"): "",  # O10
    ("DEG-O22", "retain"): "",  # O9
}
_REQUESTS: dict[tuple[str, str], list[str]] = {
    ("DEG-O09", "retain"): ["POST /v1/default/banks/omo/memories"],
    ("DEG-O15", "retain"): ["POST /v1/default/banks/omo/memories"],
}
_ANSWERS: dict[str, Answer] = {
    "200 with HTML body": (200, {}, b"<html>"),
    "200 with empty body": (200, {}, b""),
    "301 redirect": (301, {"Location": "/moved"}, b"{}"),
    "307 redirect": (307, {"Location": "/moved"}, b"{}"),
    "closes the connection": None,
}


@pytest.mark.parametrize(
    ("name", "script"),
    [(name, script) for name in _kind("degrade") for script in CASES[name]["expected"]],
)
def test_trouble(name: str, script: str, harness: Harness, stub: Stub) -> None:
    import time

    given, expected = CASES[name]["input"], CASES[name]["expected"][script]
    server = given.get("server", "")
    harness.settings.update(given.get("config", {}))
    harness.settings.update({k: v for k, v in given.items() if k.startswith("hindsight")})
    if server == "connection refused":
        harness.settings["hindsightApiUrl"] = "http://127.0.0.1:9"
    elif server in _ANSWERS:
        stub.answer = lambda *_: _ANSWERS[server]
    elif " takes " in server:
        seconds = float(re.findall(r"\d+", server)[0])
        stub.answer = lambda *_: time.sleep(seconds) or (200, {}, b"{}")  # type: ignore[func-returns-value]
    harness.write([{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}])
    if given.get("transcript") == "empty file":
        harness.transcript.write_text("")
    elif given.get("transcript"):
        harness.transcript.write_bytes(b'{"role": "user", "content": "caf\xe9"}\n')
    for file, text in given.get("state", {}).items():
        harness.state.mkdir(parents=True)
        (harness.state / file).write_text(
            text if text == "[]" else json.dumps({f"z{n:06}": 1 for n in range(10_000)})
        )
    if os.environ.get("http_proxy"):
        harness.environ = {"http_proxy": "http://127.0.0.1:1"}
    done = harness.run(script.replace("_", "-"))
    assert (done.code, done.out) == (expected["exit"], expected["stdout"])
    wanted = _SAID.get((name, script), expected["stderr"])
    assert done.err.strip().replace(stub.url, "<URL>") == wanted
    assert stub.paths() == _REQUESTS.get((name, script), expected["requests"])
    if "seconds_about" in expected:
        assert expected["seconds_about"] - 0.5 <= done.seconds <= expected["seconds_about"] + 1.5
    if wanted.startswith("[Hindsight] Retain failed"):
        assert len(harness.spooled()) == 1  # O5: nothing is lost
