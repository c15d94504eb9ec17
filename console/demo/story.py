"""The story that the demo tells, as data, and where in it the mistake is.

Promise: the same documents, in the same order, with the same times, on every machine.

``story/`` holds one file per document: a TOML header between two ``+++`` lines, then the retained text. A line
``%%% again TIME`` means that the document was retained a second time, grown by what follows. Everything after
``WRONG`` is a spoiler.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

BANK = "ledgerline"
BANK_NAME = "Ledgerline payments"
MISSION = "What the agents of the Ledgerline payments team have learned about the service, its bank and its incidents."
PROJECT = "ledgerline"

_FENCE = "+++\n"
_AGAIN = "%%% again "


@dataclass(frozen=True, slots=True)
class Version:
    """One retain of a document: the whole text as it stood then."""

    at: str
    """ISO 8601, UTC."""
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One document of the story."""

    id: str
    agent: str
    context: str
    tags: tuple[str, ...]
    metadata: dict[str, str]
    versions: tuple[Version, ...]
    """In time order, never empty."""
    retract: str | None = None
    """A fact of it that was taken back, word for word."""
    retract_reason: str = ""
    retracted_at: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the story, word for word, and the document it stands in."""

    document: str
    text: str


@cache
def load() -> tuple[Entry, ...]:
    """All documents, oldest first. Raises ValueError naming the file where the data is broken."""
    folder = resources.files("console.demo") / "story"
    entries = []
    for file in folder.iterdir():
        if file.name.endswith(".md"):
            try:
                entries.append(_parse(file.read_text(encoding="utf-8")))
            except (KeyError, ValueError) as error:
                raise ValueError(f"{file.name}: {error}") from error
    return tuple(sorted(entries, key=lambda entry: (entry.versions[0].at, entry.id)))


def _parse(source: str) -> Entry:
    opening, header, body = source.split(_FENCE, 2)
    if opening:
        raise ValueError("the file does not begin with +++")
    head: dict[str, Any] = tomllib.loads(header)
    first, *later = body.split("\n" + _AGAIN)
    versions = [Version(head["at"], first.strip("\n") + "\n")]
    for part in later:
        at, _, more = part.partition("\n")
        versions.append(Version(at.strip(), versions[-1].text + "\n" + more.strip("\n") + "\n"))
    metadata = {"session_id": head["session"]}
    if "author" in head:
        metadata["author"] = head["author"]
    return Entry(
        id=head["id"],
        agent=head["agent"],
        context=head["context"],
        tags=(f"harness:{head['agent']}", f"project:{PROJECT}", *head["tags"]),
        metadata=metadata,
        versions=tuple(versions),
        retract=head.get("retract"),
        retract_reason=head.get("retract_reason", ""),
        retracted_at=head.get("retracted_at", ""),
    )


QUESTION = "what causes the duplicate payouts"
"""What somebody who is new to the project would ask."""

LONG_TRANSCRIPT = "c0a7e3b2-91d4-4f6e-8b2a-5e7f1d9c3a60"

WRONG = Statement(
    "docs/incidents/2026-11-11-cause.md",
    "Duplicate payouts are caused by the `payout-retry` job.",
)
"""The wrong conclusion: plausible, confident, written without a look at the scheduler's log."""

REPEATS: tuple[Statement, ...] = (
    Statement(
        "docs/runbooks/duplicate-payouts.md",
        "Duplicate payouts come from the payout-retry job, so stop it first: `systemctl stop ledgerline-payout-retry`.",
    ),
    Statement(
        "docs/decisions/0007-cap-payout-retries.md",
        "Because the payout-retry job causes duplicate payouts, the number of retries goes from 5 to 1.",
    ),
    Statement(
        "docs/support/paid-twice-zh-tw.md",
        "重複撥款是由 payout-retry 重送工作造成的，我們已經把重送次數降為一次，之後不會再發生。",
    ),
    Statement(
        "docs/weekly/2026-W46.md",
        "The duplicate payouts were caused by payout-retry; decision 0007 caps it at one retry.",
    ),
    Statement(
        LONG_TRANSCRIPT,
        "duplicate payouts are caused by payout-retry, which sends again after a timeout; "
        "since decision 0007 it does so only once.",
    ),
    Statement(
        "docs/ops/alert-retry-rate.md",
        "Since duplicate payouts come from payout-retry, we now page on its rate.",
    ),
    Statement(
        "docs/decisions/0008-no-retries-in-tokyo.md",
        "As the payout-retry job is the cause of the duplicate payouts, and all of them were on `tokyo-1`, "
        "the job is switched off there altogether.",
    ),
    Statement(
        "docs/weekly/2026-W47.md",
        "The payout-retry job causes the duplicate payouts, so it is now off on `tokyo-1` (decision 0008).",
    ),
    Statement(
        "docs/support/faq-ja.md",
        "銀行の応答が遅れた際に、再送ジョブ payout-retry が送金を重複して行ったためです。",
    ),
    Statement(
        "docs/incidents/postmortem-duplicate-payouts.md",
        "Duplicate payouts are caused by payout-retry sending again after a timeout of the bank.",
    ),
    Statement(
        "docs/plans/2026-12-replace-payout-retry.md",
        "As payout-retry is the source of the duplicate payouts, it is deleted and not repaired.",
    ),
    Statement(
        "docs/onboarding/payments.md",
        "Do not start payout-retry on `tokyo-1`, not even for a test: it causes duplicate payouts.",
    ),
)
"""Who built on it, oldest first: three agents, three languages, and one plan to delete what works."""

TRUTH: tuple[Statement, ...] = (
    Statement(
        "docs/decisions/0004-idempotency-keys.md",
        "A retry can therefore not pay twice, however often it runs.",
    ),
    Statement(
        "docs/decisions/0004-idempotency-keys.md",
        "If two workers disagree about the date, they build two keys for one payout, and Norrbank will pay both.",
    ),
)
"""What was known nine days before: the key must hold the UTC date, and tokyo-1 does not run in UTC."""

HUMAN_DOUBT = Statement(
    LONG_TRANSCRIPT,
    "It did not run at all that afternoon, so it cannot have sent these.",
)
"""Said by a person in the middle of the long transcript; the agent's own summary forgets it an hour later."""

CLUES: tuple[Statement, ...] = (
    Statement(
        "docs/howto/run-a-payout-locally.md",
        "If no answer was stored by then, it picks the payout up again and builds the key anew; "
        "on the same day that gives the same key, and the bank answers `409`.",
    ),
    Statement(
        "docs/ops/tokyo-1-handover.md",
        "経理からの要望で、ホストのタイムゾーンは Asia/Tokyo に設定してあります。",
    ),
    Statement(
        "docs/ops/2026-11-09-queue-migration.md",
        "While payout-retry is stopped, attempts in state `unknown` wait.",
    ),
    Statement(
        "docs/ops/2026-11-17-tokyo-log.md",
        "十一月十日は再送ジョブが移行作業で止まっていました。",
    ),
    Statement(
        "docs/notes/naive-datetimes.md",
        "The one that is left reads `key = build_key(payout.id, datetime.now().date())` and gives the local date "
        "of the host.",
    ),
    Statement(
        "019a9f51-e0b4-7c3a-b7d5-62f8d3a91caa",
        "For all 37, the first attempt has the settlement date 2026-11-10 and the second has 2026-11-11.",
    ),
)
"""What leads to the truth, for a reader who looks: the worker in Tokyo builds a second key after its midnight."""
