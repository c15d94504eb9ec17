"""A word that is a password in a text may stand in any document's id: the manifest keeps the id."""

from __future__ import annotations

from mirror.sync import Options, sync
from mirror.verify import verify
from tests.mirror.conftest import Repo
from tests.mirror.fakebank import FakeBank


async def test_a_password_that_stands_in_an_id_leaves_the_line_to_its_document(repo: Repo) -> None:
    bank = FakeBank()
    bank.retain("test/orchard_doctest.py", 'The login is password = "orchard" for now.\n')
    report = await sync(bank, repo.path, Options(first=True))
    assert report.secrets, "the word must have been withheld for this to show anything"
    checked = await verify(bank, repo.path, Options())
    assert checked.differences == []
    assert (await sync(bank, repo.path, Options())).commit is None
