"""A listing under a clock that cannot be trusted."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mirror.listing import take
from mirror.source import Rows
from tests.mirror.fakebank import FakeBank

WRITTEN = "2026-11-30T12:00:00.500000+00:00"


class Lagging(FakeBank):
    """Shows only what was created before the moment asked for, and tells a time from some seconds ago."""

    told = ""

    async def now(self) -> str:
        return self.told

    def _tick(self) -> str:
        return WRITTEN

    async def documents(self, *, before: str | None, limit: int, offset: int) -> Rows:
        rows = await super().documents(before=before, limit=limit, offset=offset)
        items = tuple(d for d in rows.items if before is None or d.created_at < before)
        return Rows(items, len(items), len(items))

    async def touched(self, since: str) -> Mapping[str, str]:
        return {i: d.updated_at for i, d in self.docs.items() if d.updated_at >= since}


@pytest.mark.parametrize(
    "told", ["2026-11-30T12:00:01+00:00", "2026-11-30T12:00:00+00:00", "2026-11-30T11:59:40+00:00"]
)
async def test_what_was_retained_just_before_is_listed(told: str) -> None:
    bank = Lagging()
    bank.told = told
    bank.retain("just now", "It is here.\n")
    snapshot = await take(bank)
    assert (list(snapshot.documents), list(snapshot.busy)) == (["just now"], [])


@pytest.mark.parametrize("moment", ["", "soon", "2026-11-30", "9999-12-31T23:59:59.999999+00:00"])
async def test_a_bank_that_tells_no_time_of_a_write_is_listed_all_the_same(moment: str) -> None:
    class Odd(Lagging):
        async def touched(self, since: str) -> Mapping[str, str]:
            return {"other": moment}

    bank = Odd()
    bank.told = "2026-11-30T12:00:01+00:00"
    bank.retain("just now", "It is here.\n")
    assert list((await take(bank)).documents) == ["just now"]
