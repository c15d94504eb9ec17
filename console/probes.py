"""Probes: saved queries with the documents or facts that they should find. A regression test for memory.

A probe file is YAML::

    k: 5                                  # of the first so many results (default 10)
    probes:
      - query: which port does the database use
        documents: [docs/setup.md]        # any of these is a hit
        facts: ["runs on port 5434"]      # a part of a fact's text, case and blanks aside
        not_facts: ["runs on port 5433"]  # must not be among the first k
        k: 3
        tags: [project:ledgerline]        # and tags_match, types, budget, max_tokens as in recall

Reading and judging are pure; :func:`run` asks any ``MemoryStore``. Results of one store only compare with its own.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from console.memory.errors import InvalidInput
from console.memory.models import RecallRequest, RecallResult
from console.memory.store import MemoryStore

_AT_ONCE = 4
_MOST_BYTES = 4 * 1024 * 1024
_MODES = ("any", "all", "any_strict", "all_strict", "exact")


class Probe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One query and what it should find among the first ``k`` results."""

    query: str
    documents: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    not_facts: tuple[str, ...] = ()
    not_documents: tuple[str, ...] = ()
    k: int = 10
    name: str = ""
    """The query where not given."""
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    types: tuple[str, ...] = ()
    budget: str = "mid"
    max_tokens: int = 4096

    @property
    def key(self) -> str:
        """What one run's result is compared by."""
        return self.name or self.query


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one probe found."""

    key: str
    passed: bool
    """Expected found among the first k (where anything is expected), and nothing that must not be there."""
    k: int
    rank: int | None = None
    """Of the first expected result, from 1; None where it is not in the answer at all."""
    missing: tuple[str, ...] = ()
    """Expected documents and facts that are not among the first k: one found is enough to pass."""
    unwanted: tuple[str, ...] = ()
    milliseconds: float = 0.0
    results: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A run. ``hit_at_k`` and ``mrr`` are over the probes that expect something, from 0 to 1."""

    outcomes: tuple[Outcome, ...] = ()
    hit_at_k: float = 0.0
    mrr: float = 0.0
    median_ms: float = 0.0
    slowest_ms: float = 0.0
    passed: int = 0
    failed: int = 0


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One probe, this run against the last one. ``kind``: regressed, worse, improved, new, gone."""

    key: str
    kind: str
    before: int | None = None
    after: int | None = None


def read(text: str, where: str = "") -> tuple[Probe, ...]:
    """A probe file. Raises InvalidInput with the probe's number for anything that is none."""
    import yaml

    if len(text) > _MOST_BYTES:
        raise InvalidInput("the probe file is larger than 4 MiB", where=where)
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=yaml.SafeLoader)):
            raise InvalidInput("the probe file holds YAML aliases", where=where, hint="write the values out")
        loaded = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidInput(
            f"the probe file is no YAML: {' '.join(str(error).split())[:200]}", where=where
        ) from None
    if isinstance(loaded, list):
        loaded = {"probes": loaded}
    if not isinstance(loaded, dict) or not isinstance(loaded.get("probes"), list):
        raise InvalidInput(
            "the probe file has no list of probes", where=where, hint="write probes: [{query: ...}]"
        )
    unknown = set(loaded) - {"probes", "k"}
    if unknown:
        raise InvalidInput(f"the probe file has an unknown key {sorted(map(str, unknown))[0]!r}", where=where)
    shared = {"k": loaded["k"]} if "k" in loaded else {}
    probes = tuple(_probe(entry, shared, at, where) for at, entry in enumerate(loaded["probes"], 1))
    if not probes:
        raise InvalidInput("the probe file holds no probe", where=where)
    keys = [probe.key for probe in probes]
    double = next((key for at, key in enumerate(keys) if key in keys[:at]), None)
    if double is not None:
        raise InvalidInput(f"two probes are called {double[:80]!r}", where=where, hint="give each a name")
    return probes


def _probe(entry: Any, shared: Mapping[str, Any], at: int, where: str) -> Probe:
    if not isinstance(entry, dict):
        raise InvalidInput(f"probe {at} is no mapping", where=where, hint="write - query: TEXT")
    try:
        probe = msgspec.convert({**shared, **entry}, Probe)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"probe {at}: {str(error)[:200]}", where=where) from None
    expected = (*probe.documents, *probe.facts, *probe.not_facts, *probe.not_documents)
    if not any(char.isalnum() for char in probe.query):
        raise InvalidInput(f"probe {at}: the query holds no word", where=where)
    if not expected or not all(text.strip() for text in expected):
        raise InvalidInput(
            f"probe {at} expects nothing, or an empty text",
            where=where,
            hint="give documents, facts, not_documents or not_facts",
        )
    if not 1 <= probe.k <= 1000:
        raise InvalidInput(f"probe {at}: k is {probe.k}, which is not from 1 to 1000", where=where)
    if probe.tags_match not in _MODES or probe.budget not in ("low", "mid", "high"):
        raise InvalidInput(f"probe {at}: unknown tags_match or budget", where=where)
    return probe


def judge(probe: Probe, results: Sequence[RecallResult], milliseconds: float = 0.0) -> Outcome:
    """What the results of a probe's query are worth."""
    first = results[: probe.k]
    ranks = [at for at, result in enumerate(results, 1) if _expected(probe, result)]
    rank = ranks[0] if ranks else None
    missing = [name for name in probe.documents if not any(r.document_id == name for r in first)]
    missing += [text for text in probe.facts if not any(_holds(r.text, text) for r in first)]
    unwanted = [text for text in probe.not_facts if any(_holds(r.text, text) for r in first)]
    unwanted += [name for name in probe.not_documents if any(r.document_id == name for r in first)]
    hit = rank is not None and rank <= probe.k
    return Outcome(
        key=probe.key,
        passed=(hit or not (probe.documents or probe.facts)) and not unwanted,
        k=probe.k,
        rank=rank,
        missing=tuple(missing),
        unwanted=tuple(unwanted),
        milliseconds=round(milliseconds, 3),
        results=len(results),
    )


def _expected(probe: Probe, result: RecallResult) -> bool:
    return result.document_id in probe.documents or any(_holds(result.text, text) for text in probe.facts)


def _holds(text: str, part: str) -> bool:
    return " ".join(part.casefold().split()) in " ".join(text.casefold().split())


def report(probes: Sequence[Probe], outcomes: Sequence[Outcome]) -> Report:
    """The numbers of a run."""
    expecting = [o for p, o in zip(probes, outcomes, strict=True) if p.documents or p.facts]
    times = [outcome.milliseconds for outcome in outcomes]
    hits = [outcome.rank is not None and outcome.rank <= outcome.k for outcome in expecting]
    passed = sum(outcome.passed for outcome in outcomes)
    return Report(
        outcomes=tuple(outcomes),
        hit_at_k=sum(hits) / len(hits) if hits else 0.0,
        mrr=sum(1 / o.rank for o in expecting if o.rank) / len(expecting) if expecting else 0.0,
        median_ms=statistics.median(times) if times else 0.0,
        slowest_ms=max(times, default=0.0),
        passed=passed,
        failed=len(outcomes) - passed,
    )


def changes(before: Report, after: Report) -> tuple[Change, ...]:
    """What is different from the last run; only ``regressed`` (passed, and does no more) is a failure."""
    old = {outcome.key: outcome for outcome in before.outcomes}
    found: list[Change] = []
    for now in after.outcomes:
        was = old.pop(now.key, None)
        kind = "new"
        if was is not None:
            worse = (now.rank or 10**9) > (was.rank or 10**9)
            better = (now.rank or 10**9) < (was.rank or 10**9)
            if was.passed != now.passed:
                kind = "improved" if now.passed else "regressed"
            elif worse or better:
                kind = "worse" if worse else "improved"
            else:
                continue
        found.append(Change(key=now.key, kind=kind, before=was.rank if was else None, after=now.rank))
    found += [Change(key=key, kind="gone", before=was.rank) for key, was in old.items()]
    return tuple(found)


async def run(
    store: MemoryStore, bank_id: str, probes: Sequence[Probe], *, at_once: int = _AT_ONCE
) -> Report:
    """Ask every probe, ``at_once`` at a time. Raises StoreError where the store fails: a half run is no result."""
    gate = asyncio.Semaphore(at_once)

    async def one(probe: Probe) -> Outcome:
        request = RecallRequest(
            query=probe.query,
            types=probe.types,
            budget=probe.budget,
            max_tokens=probe.max_tokens,
            tags=probe.tags,
            tags_match=probe.tags_match,
        )
        async with gate:
            started = time.perf_counter()
            answer = await store.recall(bank_id, request)
            took = (time.perf_counter() - started) * 1000.0
        return judge(probe, answer.results, took)

    return report(probes, await asyncio.gather(*(one(probe) for probe in probes)))
