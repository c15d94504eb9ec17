"""Banks: an id is exactly itself, never an alias or a substring; creating changes nothing that exists."""

from __future__ import annotations

import msgspec

from console.memory.errors import BadAnswer, NotFound
from console.memory.hindsight.http import Http, Repeat
from console.memory.hindsight.ids import check_bank, check_new_bank, shown
from console.memory.hindsight.paging import check_window
from console.memory.hindsight.urls import API, bank_path
from console.memory.hindsight.wire import BankPage, Deleted, WireBank, same_bank
from console.memory.models import Bank, BankStats, Page

_ALL = 100_000  # the server has no maximum here (measured)


async def list_banks(http: Http, q: str | None, limit: int, offset: int) -> Page[Bank]:
    check_window(limit, offset)
    query = [("limit", str(limit)), ("offset", str(offset))]
    if q:
        query.append(("q", q))
    page = (await http.call("GET", f"{API}/banks", query=query)).decode(BankPage)
    items = tuple(bank.model() for bank in page.banks)
    return Page(items=items, total=page.total or 0, limit=limit, offset=offset)


async def find_bank(http: Http, bank_id: str) -> Bank | None:
    """The bank of exactly this id; there is no route that reads one bank."""
    query = [("limit", str(_ALL))]
    # q is a LIKE pattern: wildcards in an id only widen it, a backslash would narrow it.
    if "\\" not in bank_id:
        query.append(("q", bank_id))
    page = (await http.call("GET", f"{API}/banks", query=query)).decode(BankPage)
    return next((bank.model() for bank in page.banks if bank.bank_id == bank_id), None)


async def get_bank(http: Http, bank_id: str) -> Bank:
    bank = await find_bank(http, check_bank(bank_id))
    if bank is None:
        raise NotFound(
            f"bank {shown(bank_id)} not found",
            where=str(http.address),
            hint="`console banks` lists the banks that exist",
        )
    return bank


async def bank_identity(http: Http, bank_id: str) -> str:
    bank = await get_bank(http, bank_id)
    if not bank.created_at:
        raise BadAnswer(
            f"the server does not say when bank {shown(bank_id)} was created",
            where=str(http.address),
            hint="it is older than 1.1",
        )
    return bank.created_at


async def create_bank(http: Http, bank_id: str, name: str | None, mission: str | None) -> Bank:
    check_new_bank(bank_id)
    existing = await find_bank(http, bank_id)
    if existing is not None:
        return existing
    body = {key: value for key, value in (("name", name), ("mission", mission)) if value is not None}
    answer = await http.call("PUT", bank_path(bank_id), body=body, repeat=Repeat.REFUSED)
    same_bank(bank_id, answer.decode(WireBank).bank_id)
    return await get_bank(http, bank_id)


async def delete_bank(http: Http, bank_id: str) -> int:
    await get_bank(http, bank_id)  # the server answers 200 for a bank that is missing
    answer = await http.call(
        "DELETE", bank_path(bank_id), repeat=Repeat.UNSENT, missing=f"bank {shown(bank_id)}"
    )
    return answer.decode(Deleted).deleted_count or 0


async def bank_stats(http: Http, bank_id: str, refresh: bool) -> BankStats:
    check_bank(bank_id)
    query = [("refresh", "true")] if refresh else []
    answer = await http.call(
        "GET", bank_path(bank_id, "stats"), query=query, missing=f"bank {shown(bank_id)}"
    )
    # An older server sends null where a newer one sends 0: both are "none".
    fields = {key: value for key, value in answer.decode(dict[str, object]).items() if value is not None}
    try:
        stats = msgspec.convert(fields, BankStats)
    except msgspec.ValidationError:
        raise BadAnswer(
            "the server's statistics have another shape than expected", where=answer.where
        ) from None
    same_bank(bank_id, stats.bank_id)
    return stats
