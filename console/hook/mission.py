"""The bank's mission: sent at a session's start, never before a prompt's recall, and only where none is set."""

from __future__ import annotations

import hashlib
import json
import time

from console.hook.run import Run
from console.hook.wire import Failed, bank_path

_WAIT = 3600.0


def ensure(run: Run) -> None:
    """Fill the bank's empty missions from the settings, once per server, bank and text; an hour after a failure again."""
    mission = run.config["bankMission"]
    if not mission.strip():
        return
    wanted = {"reflect_mission": mission}
    if run.config["retainMission"]:
        wanted["retain_mission"] = run.config["retainMission"]
    bank = run.bank
    key = hashlib.sha256(json.dumps([run.config["hindsightApiUrl"], bank, wanted]).encode()).hexdigest()[:16]
    name = f"missions/{key}.json"
    state = run.store.read(name)
    if state.get("done") or time.time() - state.get("failed", 0.0) < _WAIT:
        return
    path = bank_path(bank, "/config")
    try:
        try:
            found = json.loads(run.client.send("GET", path, None, run.timeout(10.0)))
            held = found.get("config") if isinstance(found, dict) else None
        except Failed as error:
            if error.status != 404:
                raise
            held = None
        held = held if isinstance(held, dict) else {}
        updates = {key: text for key, text in wanted.items() if not held.get(key)}
        if updates:
            run.client.send("PATCH", path, {"updates": updates}, run.timeout(10.0))
        run.store.write(name, {"done": True, "bank": bank})
    except (Failed, ValueError) as error:
        run.debug(f"the mission of {bank} was not set: {error}")
        run.store.write(name, {"failed": time.time(), "bank": bank})
