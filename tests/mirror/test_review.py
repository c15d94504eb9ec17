"""A diff in domain words: read from git alone, whatever stands on the pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import cmarkgfm
import pytest

from mirror import digest
from mirror.errors import MirrorError
from mirror.git import Repository
from mirror.review import DocumentChange, FactChange, Review, pair, review
from mirror.revisions import find
from mirror.sync import Options, sync
from tests.mirror.conftest import Repo, make_repo
from tests.mirror.fakebank import FakeBank
from tests.mirror.test_apply import PORT, edit, mark, page

FIRST = Options(first=True)


async def run(bank: FakeBank, repo: Repo, options: Options = FIRST) -> None:
    await sync(bank, repo.path, options)


def look(repo: Repo, base: str | None = "HEAD~1", head: str = "HEAD", bank: str | None = None) -> Review:
    opened = Repository.find(repo.path)
    try:
        return review(
            opened,
            opened.resolve(base) if base else None,
            opened.resolve(head),
            wiki="wiki",
            bank=bank,
        )
    finally:
        opened.close()


def facts(result: Review) -> list[tuple[str, str, str]]:
    """(document, word, text), old -> new for a changed one."""
    return [
        (d.document_id, f.what, f"{f.old_text} -> {f.text}" if f.old_text else f.text)
        for b in result.banks
        for d in b.documents
        for f in d.facts
    ]


def documents(result: Review) -> dict[str, DocumentChange]:
    return {d.document_id: d for b in result.banks for d in b.documents}


class TestWords:
    async def test_a_first_import_adds_documents_and_facts(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        result = look(repo)
        assert result.counts == {"documents added": 3, "added": 5}
        first = documents(result)["session/1"]
        assert (first.what, first.agent, first.path) == ("added", "omo", page("session/1"))
        assert documents(result)["session/2"].session == "s2"

    async def test_a_grown_document_adds_its_new_fact(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.retain("session/2", "Deploys happen on Tuesdays.\nRollbacks take a minute.\n")
        await run(bank, repo)
        assert facts(look(repo)) == [("session/2", "added", "Rollbacks take a minute.")]

    async def test_a_reworded_fact_is_one_change(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.retain("session/2", "Deploys happen on Wednesdays.\n")
        await run(bank, repo)
        result = look(repo)
        assert facts(result) == [
            ("session/2", "changed", "Deploys happen on Tuesdays. -> Deploys happen on Wednesdays.")
        ]
        assert documents(result)["session/2"].text_changed

    async def test_an_applied_mark_is_told_with_reason_who_and_pull_request(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT, "it is 5434")
        repo.commit_all("Take back the port (#12)")
        await run(bank, repo)
        [document] = documents(look(repo, "HEAD~2")).values()
        [fact] = document.facts
        assert (fact.what, fact.text, fact.reason, fact.by, fact.pr, fact.when, fact.marked) == (
            "retracted", PORT, "it is 5434", "Ada", "#12", "2026-12-31", False,
        )  # fmt: skip

    async def test_a_mark_counts_before_it_is_applied(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        mark(repo, "session/1", PORT, "it is 5434")
        repo.commit_all()
        [fact] = documents(look(repo))["session/1"].facts
        assert (fact.what, fact.reason, fact.marked) == ("retracted", "it is 5434", True)

    async def test_a_restored_fact(self, repo: Repo, bank: FakeBank) -> None:
        bank.invalidate(PORT)
        await run(bank, repo)
        edit(repo, "session/1", f"- [ ] ~~{PORT}~~", f"- [x] ~~{PORT}~~")
        repo.commit_all()
        await run(bank, repo)
        assert facts(look(repo, "HEAD~2")) == [("session/1", "restored", PORT)]

    async def test_a_fact_that_is_live_while_its_record_stays_resurfaced(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        bank.invalidate(PORT)
        await run(bank, repo)
        bank.retain("session/1", f"ledgerline uses Postgres 16.\n{PORT}\nMore.\n", tags=["harness:omo"])
        await run(bank, repo, Options(apply=False))
        assert ("session/1", "resurfaced", PORT) in facts(look(repo))

    async def test_a_document_that_is_gone_takes_its_facts_with_it(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.delete("session/2")
        await run(bank, repo)
        result = look(repo)
        assert documents(result)["session/2"].what == "removed"
        assert facts(result) == [("session/2", "erased", "Deploys happen on Tuesdays.")]

    async def test_a_mark_on_the_whole_document(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        edit(repo, "session/1", 'status: "active"', 'status: retracted\nreason: "a guess"')
        repo.commit_all()
        document = documents(look(repo))["session/1"]
        assert (document.what, document.reason) == ("retracted", "a guess")

    async def test_nothing_to_say(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        repo.write("code.py", "print('bye')\n")
        repo.commit_all()
        assert (look(repo).banks, look(repo).counts) == ((), {})

    async def test_a_page_line_and_a_source_line_lead_to_the_fact(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        fact = next(f for f in documents(look(repo))["session/1"].facts if f.text == PORT)
        shown = (repo.path / page("session/1")).read_text(encoding="utf-8").split("\n")
        assert PORT in shown[fact.line - 1]
        assert fact.source_line == (2, 2)
        assert fact.suggestion == shown[fact.line - 1].replace("- ", "- [ ] ", 1)

    async def test_banks_are_kept_apart_and_one_can_be_asked_for(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        other = FakeBank(bank_id="other")
        other.retain("x", "Something else.\n")
        await run(other, repo)
        assert [b.bank_id for b in look(repo, None).banks] == ["demo", "other"]
        assert [b.bank_id for b in look(repo, None, bank="other").banks] == ["other"]
        assert look(repo, None, bank="none").problems


class TestPairs:
    @pytest.mark.parametrize(
        ("went", "came", "pairs"),
        [
            ([((1, 1), "The port is 5433.")], [((1, 1), "Nothing alike at all")], {0: 0}),
            ([((1, 1), "The port is 5433.")], [((9, 9), "The port is 5434.")], {0: 0}),
            ([((1, 1), "The port is 5433.")], [((9, 9), "Refunds take a month")], {}),
            ([(None, "a b c d")], [(None, "a b c e"), (None, "a b c d f")], {0: 1}),
            ([(None, "退款期限是三十天")], [(None, "退款期限是二十天")], {0: 0}),
            (
                [((1, 1), "the red house"), ((1, 1), "a blue car")],
                [((1, 1), "a blue lorry"), ((1, 1), "the red home")],
                {0: 1, 1: 0},
            ),
        ],
        ids=["same line alone", "similar", "neither", "the likeliest", "no blanks", "crossed"],
    )
    def test_what_went_and_what_came(
        self,
        went: Sequence[tuple[tuple[int, int] | None, str]],
        came: Sequence[tuple[tuple[int, int] | None, str]],
        pairs: dict[int, int],
    ) -> None:
        assert pair(went, came) == pairs


class TestBadPages:
    @pytest.mark.parametrize(
        ("damage", "says"),
        [
            ("<<<<<<< ours\n", "merge conflict"),
            ("x" * (9 * 1024 * 1024), "too large"),
        ],
        ids=["conflict", "9 MB"],
    )
    async def test_it_is_named_and_the_others_go_on(
        self, repo: Repo, bank: FakeBank, damage: str, says: str
    ) -> None:
        await run(bank, repo)
        file = repo.path / page("session/1")
        file.write_text(file.read_text(encoding="utf-8") + damage, encoding="utf-8", newline="\n")
        mark(repo, "session/2", "Deploys happen on Tuesdays.")
        repo.commit_all()
        result = look(repo)
        [found] = result.banks
        assert [p for p in found.problems if says in p and page("session/1") in p]
        assert facts(result) == [("session/2", "retracted", "Deploys happen on Tuesdays.")]

    async def test_a_link_in_a_pages_place_is_not_followed(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        file = repo.path / page("session/1")
        file.unlink()
        file.symlink_to("/etc/passwd")
        repo.commit_all()
        [found] = look(repo).banks
        assert "a link or submodule" in found.problems[0]

    async def test_a_manifest_that_cannot_be_read(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        for file in (repo.path / "wiki/demo/.mirror").glob("*.jsonl"):
            file.write_text("{\n", encoding="utf-8", newline="\n")
        mark(repo, "session/1", PORT)
        repo.commit_all()
        result = look(repo)
        assert "manifest line cannot be read" in result.banks[0].problems[0]
        assert ("session/1", "retracted", PORT) in facts(result)


class TestRevisions:
    def between(self, repo: Repo, wanted: str | None, bank: str | None = "demo") -> tuple[str | None, str]:
        opened = Repository.find(repo.path)
        try:
            return find(opened, wanted, wiki="wiki", bank=bank, default_branch="main")
        finally:
            opened.close()

    async def test_forms(self, repo: Repo) -> None:
        one = repo.head()
        repo.write("a", "a")
        two = repo.commit_all()
        assert self.between(repo, one) == (one, two)
        assert self.between(repo, f"{one}..{two}") == (one, two)
        assert self.between(repo, f"{two}..") == (two, two)
        repo.git("checkout", "-q", "-b", "side", one)
        repo.write("b", "b")
        side = repo.commit_all()
        assert self.between(repo, f"{two}...side") == (one, side)
        assert self.between(repo, f"{two}..side") == (two, side)

    async def test_nothing_typed_is_what_the_branch_changed(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        first, start = repo.git("rev-parse", "HEAD~1").strip(), repo.head()
        assert self.between(repo, None) == (first, start)
        repo.git("checkout", "-q", "-b", "review")
        mark(repo, "session/1", PORT)
        tip = repo.commit_all()
        assert self.between(repo, None) == (start, tip)

    async def test_nothing_typed_on_the_default_branch_is_what_the_mirror_branch_brings(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        start = repo.head()
        await run(bank, repo, Options(first=True, branch=True))
        assert self.between(repo, None) == (start, repo.git("rev-parse", "mirror/demo").strip())

    @pytest.mark.parametrize("wanted", ["nope", "nope..HEAD", "HEAD..nope", "--output=x", "HEAD:wiki"])
    def test_an_unknown_revision_is_named(self, repo: Repo, wanted: str) -> None:
        with pytest.raises(MirrorError, match=r"no such revision in this repository \('"):
            self.between(repo, wanted)

    def test_a_shallow_clone_is_told_apart(self, repo: Repo, tmp_path: Path) -> None:
        old = repo.head()
        repo.write("a", "a")
        repo.commit_all()
        repo.git("clone", "-q", "--depth", "1", repo.path.as_uri(), str(tmp_path / "shallow"))
        with pytest.raises(MirrorError, match=r"shallow.*git fetch --unshallow"):
            self.between(Repo(tmp_path / "shallow"), old)

    def test_a_repository_without_commits(self, tmp_path: Path) -> None:
        with pytest.raises(MirrorError, match="no commit yet"):
            self.between(make_repo(tmp_path / "empty"), None)


def _review(*texts: str, title: str = "A title", agent: str = "omo") -> Review:
    from mirror.review import BankChanges

    rows = tuple(FactChange("added", f"{n:012x}", text, line=n + 9) for n, text in enumerate(texts))
    document = DocumentChange(
        "changed", "d", "wiki/b/pages/aa/d.md", "wiki/b/pages/aa/d.txt", title, agent, facts=rows
    )
    return Review("a" * 40, "b" * 40, (BankChanges("b", "wiki/b", (document,)),))


class TestMarkdown:
    @pytest.mark.parametrize(
        "text",
        [
            "ask @alice about it", "@org/team", "fixes #12", "closes GH-12", "owner/repo#12", "see `x` and @bob",
            "<img src=x onerror=alert(1)>", "</details>", "<!-- ", "[x](javascript:alert(1))", "| a | b |", "# head",
        ],
    )  # fmt: skip
    def test_a_banks_text_acts_on_nothing(self, text: str) -> None:
        html = cmarkgfm.github_flavored_markdown_to_html(
            digest.markdown(_review(text, title=text, agent=text)),
            options=cmarkgfm.Options.CMARK_OPT_UNSAFE,
        )
        visible = re.split(r"<[^>]*>", re.sub(r"<!-- -->", "<i>", html))
        assert not [t for t in visible if re.search(r"@\w|#\d|GH-\d", t)]
        assert html.count("<details") == html.count("</details>") == 1
        assert "<img" not in html
        assert "javascript:" not in re.sub(r">[^<]*<", "><", html)
        assert "<h1" not in html

    def test_links_lead_to_the_line(self) -> None:
        assert "[page](wiki/b/pages/aa/d.md?plain=1#L9)" in digest.markdown(_review("A fact.", "Another."))

    def test_it_is_cut_from_the_bottom_and_says_so(self) -> None:
        whole = _review(*[f"Fact number {n} of a long list of facts." for n in range(3000)])
        text = digest.markdown(whole)
        assert 60_000 < len(text) <= 65_536
        shown = len(re.findall("Fact number", text))
        assert f"**Cut here:** {3000 - shown:,} more facts did not fit" in text
        assert text.count("<details") == text.count("</details>")
        assert text.startswith("3,000 facts added; 1 document changed.")

    def test_the_counts_come_in_one_line(self) -> None:
        assert digest.counts_line(_review("a")) == "1 fact added; 1 document changed"
        assert digest.counts_line(Review("", "", ())) == ""
