"""What a recall trace says about time and arms, in one line.

A trace is not versioned and differs between stores: whatever is missing is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def milliseconds(seconds: float) -> str:
    """0.0342 -> ``34 ms``; from ten seconds on ``12.3 s``."""
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds * 1000:.0f} ms"


def timings(trace: Mapping[str, Any] | None) -> str:
    """``semantic 12 ms (8) · bm25 3 ms (5)``: the time and hits of each arm that found something; '' where the trace says nothing."""
    if not trace:
        return ""
    arms: dict[str, tuple[float | None, int]] = {}
    for arm in _maps(trace.get("retrieval_results")):
        name = arm.get("method_name")
        if not isinstance(name, str):
            continue
        seconds, hits = arms.get(name, (None, 0))
        took = _number(arm.get("duration_seconds"))
        # One entry per arm and fact type, run side by side: the slowest is what was waited for.
        if took is not None:
            seconds = max(seconds or 0.0, took)
        found = arm.get("results")
        arms[name] = (seconds, hits + (len(found) if isinstance(found, (list, tuple)) else 0))
    said = [
        name + (f" {milliseconds(seconds)}" if seconds is not None else "") + f" ({hits})"
        for name, (seconds, hits) in arms.items()
        if hits
    ]
    if not said:
        summary = trace.get("summary")
        phases = summary.get("phase_metrics") if isinstance(summary, Mapping) else None
        for phase in _maps(phases):
            took = _number(phase.get("duration_seconds"))
            if took is not None:
                said.append(f"{phase.get('phase_name', '?')} {milliseconds(took)}")
    return " · ".join(said)


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
