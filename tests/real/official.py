"""Hindsight's own Python client at work, as a harness uses it: ``python official.py URL TOKEN BANK``; prints one JSON.

Runs under the server's Python (tests/rig/requirements.txt), so it imports nothing of this project.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from hindsight_client import Hindsight  # type: ignore[import-not-found]

TEXT = "Ledgerline stores its invoices in Postgres 16. Ada deploys on Tuesdays."
LOOSE = [
    {"content": "The nightly backup goes to the second region."},
    {"content": "Refunds are open for thirty days."},
]


def main(url: str, token: str, bank: str) -> dict[str, Any]:
    client = Hindsight(base_url=url, api_key=token)
    seen: dict[str, Any] = {"version": bool(client.get_version())}
    made = client.create_bank(bank, name="Ledgerline", mission="Remember decisions.")
    seen["bank"] = [made.bank_id, made.name]
    one = client.retain(bank, TEXT, document_id="session/1", tags=["x"], context="omo", metadata={"k": "v"})
    seen["retain"] = [one.success, one.bank_id, one.items_count, one.var_async, one.operation_id]
    later = client.retain(bank, "The queue is called orders.", document_id="session/2", retain_async=True)
    seen["later"] = [later.success, later.var_async, bool(later.operation_id)]
    batch = client.retain_batch(bank, LOOSE)
    seen["batch"] = [batch.success, batch.items_count]
    end = time.monotonic() + 30
    while True:
        texts = sorted(item.text for item in client.list_memories(bank, limit=100).items)
        if len(texts) >= 5 or time.monotonic() > end:
            break
        time.sleep(0.2)
    seen["memories"] = texts
    seen["of one"] = [i.document_id for i in client.list_memories(bank, document_id="session/2").items]
    found = client.recall(bank, "Which database stores the invoices?", include_chunks=True)
    # By its text: without a rerank model the server's order is chance.
    first = next(result for result in found.results if "invoices" in result.text)
    seen["recall"] = [first.text, first.type, first.document_id, first.tags, bool(found.chunks)]
    seen["reflect"] = "Postgres" in (client.reflect(bank, "Which database stores the invoices?").text or "")
    seen["config"] = bool(client.set_reflect_mission(bank, "Be brief."))
    client.close()
    return seen


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
