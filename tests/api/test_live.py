"""Every operation on a real server, through the command that the table names for it; every answer by its schema.

What cannot be shown here needs a vendor or a model that the rig has not: it is listed, and nothing else may be left out.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.api.spec import find
from console.memory.hindsight.http import Answer, Http
from tests.api.coverage import BY_API, FIRST_CLASS, RETIRED
from tests.api.described import document, operations
from tests.api.schema import answer_faults
from tests.cli.conftest import Console, Ran

NOT_HERE = {
    "test_bank_llm": "switched off by default; a 404 that says so",
    "get_bank_attachment": "needs a model that sees pictures",
}

NAMES = "Priya uses Postgres for Ledgerline. Ledgerline runs on Postgres 16. Priya likes Redis. The gate of Ledgerline is green."


class Session:
    """A bank, the console on it, and every request that was answered."""

    def __init__(self, console: Console, url: str, bank: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.console, self.url, self.bank = console, url, bank
        self.answered: dict[str, int] = {}
        sent: Callable[..., Any] = Http._send

        async def send(http: Http, method: str, target: str, *rest: Any) -> Answer:
            answer: Answer = await sent(http, method, target, *rest)
            operation = find(operations(), method, target.split("?")[0])
            if operation is not None:
                self.answered.setdefault(operation.operation_id, answer.status)
                if answer.status < 300:
                    self.answered[operation.operation_id] = answer.status
                    if "json" in answer.headers.get("content-type", ""):
                        assert answer_faults(operation.operation_id, json.loads(answer.content)) == []
            return answer

        monkeypatch.setattr(Http, "_send", send)

    def run(self, *words: str, code: int = 0, stdin: bytes = b"") -> Ran:
        ran = self.console("--store", self.url, "--bank", self.bank, *words, stdin=stdin)
        assert ran.code == code, (words, ran.err)
        return ran

    def json(self, *words: str) -> Any:
        return self.run(*words, "--json").json

    def settled(self, kind: str | None = None) -> None:
        """Wait for background work."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            rows = [
                row
                for status in ("pending", "processing")
                for row in self.json("operations", "list", "--status", status)["operations"]
            ]
            if not rows:
                return
            time.sleep(0.2)
        raise AssertionError("background work does not end")


@pytest.fixture
def live(console: Console, hindsight_url: str, bank_id: str, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(console, hindsight_url, bank_id, monkeypatch)


def call(live: Session, operation: str, /, **words: str) -> Ran:
    """Run the table's line for an operation with real ids, and see that it was reached."""
    line = (FIRST_CLASS | BY_API)[operation]
    argv = [word if "$" not in word else _filled(word, words) for word in line.split()]
    ran = live.run(*(["api"] if operation in BY_API else []), *argv)
    assert live.answered.get(operation, 0) // 100 == 2, operation
    return ran


def _filled(word: str, words: dict[str, str]) -> str:
    head, _, name = word.partition("$")
    return head + words[name]


def test_every_operation(live: Session, home: Path) -> None:
    bank = live.bank
    call(live, "health_endpoint_health_get")
    live.run("banks", "create", bank)
    live.run("retain", "--id", "doc", "--tag", "t", NAMES)
    live.run("retain", "--id", "two", "Priya moved Ledgerline to Postgres 17.")
    memory = next(m for m in live.json("memories", "list")["items"] if "Redis" in m["text"])
    for operation in (
        "list_banks", "update_bank", "get_agent_stats", "get_memories_timeseries", "get_bank_config",
        "update_bank_config", "list_documents", "list_memories", "recall_memories", "reflect", "list_entities",
        "get_entity_graph", "list_tags", "list_mental_models", "list_directives", "list_observation_scopes",
        "list_operations", "get_knowledge_base_tree", "search_knowledge_base", "dry_run_extract_memories",
        "retain_memories", "create_bank_alias", "list_bank_aliases", "reset_bank_config",
        "get_readiness", "get_liveness", "metrics_endpoint_metrics_get", "get_graph", "preview_prompt", "list_webhooks",
        "get_bank_template_schema", "audit_log_stats", "list_llm_requests", "llm_request_stats", "export_bank_template",
    ):  # fmt: skip
        if operation == "create_bank_alias":
            alias = f"{bank}-alias"
            live.run("banks", "aliases", "add", alias)
        else:
            call(live, operation)
    live.run("banks", "aliases", "primary", alias)
    live.run("banks", "aliases", "remove", alias, "--yes")
    call(live, "get_document", document="doc")
    call(live, "list_document_chunks", document="doc")
    call(live, "get_chunk", chunk=memory["chunk_id"])
    call(live, "update_document", document="doc")
    call(live, "get_document_history", document="doc")
    call(live, "get_memory", memory=memory["id"])
    call(live, "get_observation_history", memory=memory["id"])
    call(live, "update_memory", memory=memory["id"])
    entity = live.json("entities", "list")["items"][0]
    call(live, "get_entity", entity=entity["id"])

    directive = (
        json.loads(call(live, "create_directive").out or "null")
        or live.json("directives", "list")["items"][0]
    )
    for operation in ("get_directive", "update_directive", "delete_directive"):
        call(live, operation, directive=directive["id"])

    call(live, "trigger_consolidation")
    live.settled()
    call(live, "recover_consolidation")
    call(live, "clear_memory_observations", memory=memory["id"])
    call(live, "clear_observations")

    call(live, "create_mental_model")
    live.settled()
    model = live.json("models", "list")["items"][0]["id"]
    for operation in ("get_mental_model", "update_mental_model", "refresh_mental_model", "get_mental_model_history", "dry_run_refresh_mental_model", "clear_mental_model"):  # fmt: skip
        call(live, operation, model=model)
        live.settled()
    call(live, "delete_mental_model", model=model)

    folder = call(live, "create_knowledge_folder")
    assert folder.json["kind"] == "folder"
    page = call(live, "create_knowledge_page").json["page_id"]
    live.settled()
    call(live, "get_knowledge_page", page=page)
    call(live, "export_knowledge_base")
    call(live, "update_knowledge_node", node=folder.json["id"])
    call(live, "delete_knowledge_node", node=folder.json["id"])

    (home / "strategies").write_text('{"strategies": []}')
    call(live, "preview_consolidation_strategies", strategies=str(home / "strategies"))
    (home / "template").write_text(json.dumps(live.json("api", "GET", "/v1/default/banks/{bank_id}/export")))
    call(live, "import_bank_template", template=str(home / "template"))

    hook = call(live, "create_webhook").json["id"]
    for operation in ("list_webhook_deliveries", "update_webhook", "delete_webhook"):
        call(live, operation, webhook=hook)

    live.run("banks", "config", "set", "audit_log_enabled=true")
    live.run("recall", "Postgres")
    deadline = time.monotonic() + 20
    rows: list[Any] = []
    while not rows and time.monotonic() < deadline:
        rows = call(live, "list_audit_logs").json["items"]
        time.sleep(0.2)
    call(live, "get_audit_log", log=rows[0]["id"])
    call(live, "get_version")

    _transfer(live, home)
    _work(live, home)
    call(live, "delete_document", document="two")
    call(live, "clear_bank_memories")
    call(live, "create_or_update_bank")
    call(live, "delete_bank", bank=bank)
    live.console("--store", live.url, "banks", "delete", "new-bank", "--yes")

    offered = {o.operation_id for o in operations()} - set(RETIRED)
    missed = {o for o in offered if live.answered.get(o, 0) // 100 != 2}
    assert missed == set(NOT_HERE)


def _transfer(live: Session, home: Path) -> None:
    for operation in ("export_bank_transfer", "export_documents"):
        started = call(live, operation).json["operation_id"]
        ended = live.json("operations", "wait", started)
        url = ended["result_metadata"]["download_url"]
        key = url.split("/files/download/", 1)[1].split("?")[0]
        archive = home / f"{operation}.zip"
        live.run(
            "api", "GET", "/v1/default/files/download/{key}", "--path", f"key={key}", "--output", str(archive)
        )
        assert archive.read_bytes()[:2] == b"PK"
        call(live, "import_documents" if operation == "export_documents" else "import_bank_transfer", archive=str(home / "export_documents.zip" if operation == "export_documents" else archive))  # fmt: skip
        live.settled()
    call(live, "clone_bank", target=f"{live.bank}-copy")
    live.settled()


def _work(live: Session, home: Path) -> None:
    (home / "notes.txt").write_text("The harbour of Aster is closed on Monday.")
    call(live, "file_retain", file=str(home / "notes.txt"))
    live.settled()
    assert live.json("documents", "get", "notes.txt")["original_text"].startswith("The harbour")
    call(live, "reprocess_document", document="doc")
    live.settled()
    broken = home / "broken.zip"
    broken.write_bytes(b"no archive")
    path = "/v1/default/banks/{bank_id}/transfer/import"
    first, second = (
        live.json(
            "api",
            "POST",
            path,
            "--query",
            "mode=restore",
            "--query",
            f"target_bank_id={live.bank}-{name}",
            "--upload",
            f"file={broken}",
        )["operation_id"]
        for name in ("x", "y")
    )
    # An archive that is none is tried again later: meanwhile it can be cancelled, then retried, then deleted.
    deadline = time.monotonic() + 30
    while live.json("operations", "get", first)["status"] == "processing" and time.monotonic() < deadline:
        time.sleep(0.1)
    call(live, "get_operation_status", operation=first)
    for operation in (first, second):
        if live.json("operations", "get", operation)["status"] in {"pending", "processing"}:
            call(live, "cancel_operation", operation=operation)
    call(live, "retry_operation", operation=first)
    deadline = time.monotonic() + 30
    while live.json("operations", "get", first)["status"] == "processing" and time.monotonic() < deadline:
        time.sleep(0.1)
    live.console("--store", live.url, "--bank", live.bank, "operations", "cancel", first, "--yes")
    call(live, "delete_operation", operation=second)


def test_what_is_retired_answers_410_and_says_so(live: Session) -> None:
    live.run("banks", "create", live.bank)
    for operation, line in RETIRED.items():
        words = line.split() + (
            ["--path", "entity_id=" + "0" * 8 + "-0000-4000-8000-" + "0" * 12]
            if "{entity_id}" in line
            else []
        )
        fields = {"PUT": ["--input", "-"], "POST": ["--field", "content=x"]}.get(words[0], [])
        body = b'{"disposition": {"skepticism": 3, "literalism": 3, "empathy": 3}}'
        ran = live.run("api", *words, *fields, code=1, stdin=body)
        assert live.answered[operation] == 410, ran.err
        assert "does not offer it" in ran.err


def test_the_llm_check_is_off_and_the_reason_is_said(live: Session) -> None:
    live.run("banks", "create", live.bank)
    assert "switched off" in live.run("banks", "llm", code=1).err


def test_the_live_description_is_the_one_in_the_tests(hindsight_url: str) -> None:
    with urllib.request.urlopen(f"{hindsight_url}/openapi.json", timeout=30) as answer:
        live = json.load(answer)
    assert set(live["paths"]) == set(document()["paths"])
    assert set(live["components"]["schemas"]) == set(document()["components"]["schemas"])
