"""A thousand real texts: every page is what the bank says, and a second look costs nothing."""

from __future__ import annotations

import time
from collections import Counter

from console.memory.models import RetainItem
from console.memory.store import MemoryStore
from tests.mirror.conftest import Repo
from tests.real.run import Run
from tests.real.texts import Text, find

COUNT = 1000


def items(texts: list[Text]) -> list[RetainItem]:
    """As agents do: a tag for the kind, the file as metadata."""
    return [
        RetainItem(
            document_id=text.name,
            content=text.content,
            tags=(f"encoding:{text.encoding}", f"kind:{text.name.rpartition('.')[2][:20]}"),
            context="a file of this machine",
            metadata={"path": text.name},
        )
        for text in texts
    ]


async def check(store: MemoryStore, bank: str, repo: Repo, texts: list[Text]) -> str:
    """Retain, sync, verify, sync; figures for people."""
    run = Run(store, bank, repo)
    start = time.perf_counter()
    await store.retain(bank, items(texts))
    retained = time.perf_counter()
    report = await run.sync()
    synced = time.perf_counter()
    assert report.busy == []
    assert (report.added, report.documents) == (len(texts), len(texts))

    verified = await run.verify()
    checked = time.perf_counter()
    assert (verified.differences, verified.busy) == ([], [])
    assert verified.pages == len(texts)

    head = repo.head()
    again = await run.sync()
    done = time.perf_counter()
    assert (again.commit, again.fetched, repo.head()) == (None, 0, head)
    assert again.unchanged == len(texts)

    stored = await run.stored()
    recovered = run.texts()
    # Examples of keys occur in real documentation: those alone are withheld, and nothing else may differ.
    differ = {i: text for i, text in stored.items() if recovered[i] != text}
    assert {i: text for i, text in differ.items() if "[withheld: " not in recovered[i]} == {}
    assert len(differ) <= len(texts) // 100
    assert set(stored) == set(recovered) == {text.name for text in texts}
    if len(texts) >= 100:  # the machine's texts are as mixed as the test says
        assert sum(not text.content.isascii() for text in texts) >= 5
        assert len({text.encoding for text in texts}) >= 2

    size = sum(len(text.content.encode()) for text in texts)
    encodings = ", ".join(
        f"{name} {count}" for name, count in Counter(t.encoding for t in texts).most_common()
    )
    return (
        f"{len(texts)} documents, {size / 1e6:.1f} MB, {report.facts} facts ({encodings}): "
        f"retain {retained - start:.1f} s, sync {synced - retained:.1f} s, verify {checked - synced:.1f} s, "
        f"sync again {done - checked:.1f} s"
    )


async def test_on_a_real_server(server: MemoryStore, bank_id: str, repo: Repo, full: bool) -> None:
    texts = [text.cut(2048 if full else 600) for text in find(COUNT if full else 100)]
    assert len(texts) == (COUNT if full else 100)
    print(await check(server, bank_id, repo, texts))


async def test_on_an_embedded_bank(embedded: MemoryStore, repo: Repo, full: bool) -> None:
    texts = find(COUNT) if full else find(150, largest=8_000)
    assert len(texts) == (COUNT if full else 150)
    print(await check(embedded, "files", repo, texts))
