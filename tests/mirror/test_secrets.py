"""Secrets: what is found, and that none of it reaches a git object or the screen."""

from __future__ import annotations

import json
import random
import string
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from mirror import page as pages
from mirror.cover import Cover
from mirror.errors import MirrorError
from mirror.manifest import read_header
from mirror.model import PageSource
from mirror.paths import page_name
from mirror.secrets import FORMATS, RULES, find, fingerprint, suspicious
from mirror.source import SourceBank, SourceFact
from mirror.sync import Options, Report, sync
from mirror.verify import verify
from tests.mirror.conftest import Repo, make_repo
from tests.mirror.fakebank import FakeBank
from tests.mirror.test_apply import mark

FIRST = Options(first=True)
_RANDOM = random.Random(7)


def chars(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(_RANDOM.choice(alphabet) for _ in range(count - 2)) + "q7"


# Put together here, so that no scanner of this repository takes one for real.
_HEX = "0123456789abcdef"
KEYS = {
    "aws-access-key": "AKIA" + "".join(_RANDOM.choice(string.ascii_uppercase + "234567") for _ in range(16)),
    "github-token": "gh" + "p_" + chars(36),
    "github-fine-grained-token": "github" + "_pat_" + chars(22) + "_" + chars(59),
    "gitlab-token": "gl" + "pat-" + chars(20),
    "slack-token": "xo" + "xb-123456789012-" + chars(24),
    "slack-webhook": "https://hooks.slack" + ".com/services/T00000001/B00000002/" + chars(24),
    "stripe-key": "sk_" + "live_" + chars(24),
    "stripe-webhook": "wh" + "sec_" + chars(32),
    "google-api-key": "AI" + "za" + chars(35),
    "google-oauth-secret": "GOC" + "SPX-" + chars(28),
    "anthropic-key": "sk-" + "ant-api03-" + chars(93),
    "openai-key": "sk-" + "proj-" + chars(60),
    "npm-token": "np" + "m_" + chars(36),
    "pypi-token": "py" + "pi-AgEIcHlwaS5vcmc" + chars(70),
    "json-web-token": "ey" + "J" + chars(20) + ".ey" + "J" + chars(40) + "." + chars(43),
    "hindsight-key": "hs" + "k_" + chars(32),
    "sendgrid-key": "S" + "G." + chars(22) + "." + chars(43),
    "twilio-key": "S" + "K" + chars(32, _HEX)[:30] + "a7",
    "hugging-face-token": "h" + "f_" + "".join(_RANDOM.choice(string.ascii_letters) for _ in range(34)),
    "azure-client-secret": "abc8" + "Q~" + chars(34),
    "digitalocean-token": "do" + "p_v1_" + chars(64, _HEX)[:62] + "a7",
    "telegram-bot-token": "123456789" + ":A" + "A" + chars(33),
    "private-key": "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + "\n".join(chars(64) for _ in range(4)) + "\n-----END RSA PRIV" + "ATE KEY-----",
}  # fmt: skip
PLACED = {
    "azure-storage-key": ("AccountKey=", chars(86) + "==", ";EndpointSuffix"),
    "azure-sas": ("https://x.example/y?sv=1&sig=", chars(43) + "%3D", "&se=2"),
    "url-password": ("postgres://ledger:", "corr-horse-9", "@db.internal:5432/x"),
    "assigned-secret": ('password = "', "hunter2", '"'),
}
TOKEN = KEYS["github-token"]


class TestRules:
    def test_every_rule_has_a_case(self) -> None:
        assert {rule.id for rule in RULES} == {*KEYS, *PLACED}
        assert all(rule.hints and rule.source for rule in RULES)

    @pytest.mark.parametrize("rule", KEYS)
    @pytest.mark.parametrize(
        "around", ["{}", "the key is {}.", '{{"k": "{}"}}', "K={}\nnext", "`{}`", "键{}键"]
    )
    def test_a_known_format(self, rule: str, around: str) -> None:
        text = around.format(KEYS[rule])
        assert suspicious(text)
        [found] = find(text)
        assert (found.rule, found.value.rstrip(".")) == (rule, KEYS[rule])

    @pytest.mark.parametrize("rule", PLACED)
    def test_a_value_in_a_secrets_place(self, rule: str) -> None:
        before, value, after = PLACED[rule]
        [found] = find(before + value + after)
        assert (found.rule, found.value) == (rule, value)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("api_key: 'a1b2c3d4'", "a1b2c3d4"),
            ('"client_secret": "a1b2c3d4"', "a1b2c3d4"),
            (r"{\"password\": \"swordfish\"}", "swordfish"),
            ("DB_PASSWORD=`tr0ub4dor`", "tr0ub4dor"),
            ("token := \"a1b2c3d4\"", "a1b2c3d4"),
        ],
    )  # fmt: skip
    def test_assignments_in_many_languages(self, text: str, value: str) -> None:
        assert [found.value for found in find(text)] == [value]

    @pytest.mark.parametrize(
        "text",
        [
            "The password is kept in the vault.",
            'password = "${DB_PASSWORD}"',
            'password = "<your password>"',
            'password = "changeme-now"',
            'password: "example-password"',
            'secret = "required"',
            'token: "optional"',
            'token = os.environ["TOKEN"]',
            "postgres://postgres:postgres@localhost/x",
            "https://user:password@host.example/",
            "https://example.org/a:b@c",
            "AKIAIOSFODNN7" + "EXAMPLE",
            "ghp_" + "x" * 36,
            "a task-force-with-very-many-dashes-in-its-name-1234567890",
            "sk-learn-is-a-library-for-machine-learning-2",
            "44e3d984468015af 6d6dcda8a1b2c3d4e5f60718293a4b5c6d7e8f90 0192f0c1-7e3a-7bb8-8f00-1c2d3e4f5a6b",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "eyJ is how many a token begins",
            "[withheld: github-token]",
        ],
    )
    def test_what_is_none(self, text: str) -> None:
        assert list(find(text)) == []

    @pytest.mark.parametrize("text", ["://" * 30_000 + "@", "password" * 20_000 + '="', "eyJ" * 40_000, "sk-" * 40_000,
                                      "-----BEGIN PRIV" + "ATE KEY-----" * 3000, 'token="' * 20_000])  # fmt: skip
    def test_hostile_texts_take_no_time(self, text: str) -> None:
        import time

        start = time.perf_counter()
        list(find(text))
        assert time.perf_counter() - start < 2

    def test_a_secrets_repr_does_not_hold_it(self) -> None:
        [found] = find(TOKEN)
        assert TOKEN not in repr(found)

    def test_fingerprints_tell_banks_rules_and_values_apart(self) -> None:
        [one] = find(TOKEN)
        [other] = find(KEYS["npm-token"])
        assert len({fingerprint("a", one), fingerprint("b", one), fingerprint("a", other)}) == 3
        assert fingerprint("a", one) == fingerprint("a", one)

    def test_looking_costs_little_against_rendering(self) -> None:
        import time

        text = "\n".join(
            f"- {n}: ledgerline uses Postgres {n}, and deploys happen on Tuesdays." for n in range(40)
        )
        facts = tuple(
            SourceFact(f"m{n}", "d", line, "world", True) for n, line in enumerate(text.split("\n"))
        )
        source = PageSource("b", "d", text, "2026-11-01", facts=facts)
        cover = Cover(SourceBank("b", "x", ""))

        def cost(work: object) -> float:
            assert callable(work)
            return min(_timed(work) for _ in range(5))

        def _timed(work: object) -> float:
            assert callable(work)
            start = time.perf_counter()
            for _ in range(20):
                work()
            return time.perf_counter() - start

        assert cost(lambda: cover.document(source)) < 0.2 * cost(
            lambda: pages.render(source, text_name="d.txt")
        )


def everything(repo: Repo) -> bytes:
    """Content and names of every object of the repository, reachable or not."""
    listed = repo.git("cat-file", "--batch-all-objects", "--batch-check")
    oids = [line.split()[0] for line in listed.splitlines()]
    done = subprocess.run(
        ["git", "-C", str(repo.path), "cat-file", "--batch"],
        input="\n".join(oids).encode() + b"\n", capture_output=True, check=True,
    )  # fmt: skip
    return done.stdout


def clean(repo: Repo, report: Report, *values: str) -> None:
    """Nothing of the values is in a git object, a file, a name of a file or the report."""
    told = json.dumps(asdict(report), default=str)
    stored = everything(repo)
    files = [f for f in repo.path.rglob("*") if f.is_file() and "memory-console" not in f.parts]
    for value in values:
        for piece in [p for p in value.splitlines() if len(p) > 5 and "-----" not in p]:
            assert piece.encode() not in stored
            assert piece.lower().encode() not in stored
            assert piece not in told
            assert not [
                f for f in files if piece.encode() in f.read_bytes() or piece.lower() in str(f).lower()
            ]


async def run(bank: FakeBank, repo: Repo, options: Options = FIRST) -> Report:
    return await sync(bank, repo.path, options)


def where(bank: FakeBank, document_id: str) -> str:
    return f"wiki/{bank.bank_id}/{page_name(bank.bank_id, document_id).page}"


PLACES = ["text", "fact", "tag", "metadata", "metadata key", "context", "id", "reason", "long line", "title"]


def plant(bank: FakeBank, place: str, value: str) -> None:
    text, more, facts, doc = "Plain text.\n", {}, ["A plain fact."], "doc"
    if place == "text":
        text = f"Before.\n\nThe key: {value}\nafter.\n"
    elif place == "fact":
        facts = [f"The key is {value} since May."]
    elif place == "tag":
        more = {"tags": [f"key:{value}"]}
    elif place == "metadata":
        more = {"metadata": {"session_id": value}}
    elif place == "metadata key":
        more = {"metadata": {value: "x"}}
    elif place == "context":
        more = {"context": f"run with {value}"}
    elif place == "id":
        doc = f"session/{value}"
    elif place == "long line":
        text = f"{'word ' * 17}{value} {'word ' * 30}\n"
    elif place == "title":
        text = f"{'t' * 50} {value}\n"
    bank.retain(doc, text, facts=facts, **more)  # type: ignore[arg-type]
    if place == "reason":
        bank.invalidate("A plain fact.", reason=f"it is {value} now")


class TestNothingIsPublished:
    @pytest.mark.parametrize("place", PLACES)
    @pytest.mark.parametrize("branch", [False, True], ids=["work tree", "branch"])
    async def test_wherever_it_stands(self, repo: Repo, bank: FakeBank, place: str, branch: bool) -> None:
        plant(bank, place, TOKEN)
        options = Options(first=True, branch=branch)
        report = await run(bank, repo, options)
        clean(repo, report, TOKEN)
        assert (report.exit_code, [s.rule for s in report.secrets]) == (6, ["github-token"])
        again = await run(bank, repo, options)
        assert (again.commit, again.exit_code, again.secrets) == (None, 6, report.secrets)
        result = await verify(bank, repo.path, options)
        assert (result.differences, result.withheld) == ([], 1)

    @pytest.mark.parametrize("rule", [*KEYS])
    async def test_whatever_it_is(self, repo: Repo, bank: FakeBank, rule: str) -> None:
        value = KEYS[rule]
        facts = [f"It reads {value}", *value.split("\n")]
        bank.retain("doc", f"Before\n{value}\nafter {value}\n", facts=facts, tags=[f"a:{value}"])
        report = await run(bank, repo)
        clean(repo, report, value)
        assert {s.rule for s in report.secrets} == {rule}

    async def test_a_password_in_metadata_under_its_name(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("doc", "It is swordfish99, as noted.\n", metadata={"db_password": "swordfish99"})
        report = await run(bank, repo)
        clean(repo, report, "swordfish99")

    async def test_a_fresh_export_has_the_same_bytes(
        self, repo: Repo, bank: FakeBank, tmp_path: Path
    ) -> None:
        await run(bank, repo)
        for place in PLACES:
            plant(bank, place, TOKEN)
            await run(bank, repo)
        fresh = make_repo(tmp_path / "fresh")
        await run(bank, fresh)
        assert repo.tree("HEAD:wiki/demo") == fresh.tree("HEAD:wiki/demo")

    async def test_the_page_says_what_was_taken_out(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("doc", f"The key: {TOKEN}\n")
        await run(bank, repo)
        shown = repo.show(where(bank, "doc")).decode()
        assert 'text: "withheld"' in shown
        assert "- The key: [withheld: github-token] <!-- f:" in shown
        assert repo.show(where(bank, "doc")[:-3] + ".txt") == b"The key: [withheld: github-token]\n"

    async def test_an_id_becomes_an_alias_that_holds(self, repo: Repo, bank: FakeBank) -> None:
        doc = f"s/{TOKEN}"
        bank.retain(doc, "A fact of it.\n")
        await run(bank, repo)
        [name] = [p for p in repo.files(folder="wiki") if "/withheld--" in p and p.endswith(".md")]
        bank.retain(doc, "A fact of it.\nAnother one.\n")
        grown = await run(bank, repo)
        assert "Another one." in repo.show(name).decode()
        clean(repo, grown, TOKEN)
        bank.delete(doc)
        gone = await run(bank, repo)
        assert (gone.removed, gone.exit_code) == (1, 0)
        assert name not in repo.files(folder="wiki")

    async def test_a_document_that_bears_an_alias_as_its_id_is_another_one(
        self, repo: Repo, bank: FakeBank
    ) -> None:
        doc = f"s/{TOKEN}"
        alias = Cover(SourceBank("demo", "", "")).alias(doc)
        bank.retain(doc, "The true one.\n")
        bank.retain(alias, "The one that would like to be it.\n")
        report = await run(bank, repo)
        assert report.added == 5
        assert "The true one." in repo.show(where(bank, alias)).decode()

    async def test_a_bank_with_a_secret_for_an_id_is_refused(self, repo: Repo) -> None:
        bank = FakeBank(bank_id=f"b-{TOKEN}")
        bank.retain("x", "y\n")
        with pytest.raises(MirrorError, match="id holds a secret") as caught:
            await run(bank, repo)
        assert TOKEN not in str(caught.value)
        assert "wiki" not in repo.files()

    async def test_what_would_be_done_does_not_say_it_either(self, repo: Repo, bank: FakeBank) -> None:
        await run(bank, repo)
        bank.retain("doc", f"The key: {TOKEN}\n")
        report = await run(bank, repo, Options(check=True))
        clean(repo, report, TOKEN)
        assert report.exit_code == 6


class TestMarks:
    async def test_a_withheld_fact_can_be_taken_back_and_holds(self, repo: Repo, bank: FakeBank) -> None:
        fact = f"The key is {TOKEN} since May."
        bank.retain("doc", "x\n", facts=[fact, "Another."])
        await run(bank, repo)
        mark(repo, "doc", "The key is [withheld: github-token] since May.", "a key")
        repo.commit_all()
        report = await run(bank, repo)
        assert not [f for f in bank.fact_rows.values() if f.text == fact and f.live]
        clean(repo, report, TOKEN)
        bank.retain("doc", "x\ny\n", facts=[fact, "Another.", "More."])
        again = await run(bank, repo)
        assert [a.cause for a in again.actions] == ["resurfaced"]
        assert not [f for f in bank.fact_rows.values() if f.text == fact and f.live]
        clean(repo, again, TOKEN)
        assert (await run(bank, repo)).commit is None

    async def test_and_restored(self, repo: Repo, bank: FakeBank) -> None:
        fact = f"The key is {TOKEN} since May."
        bank.retain("doc", "x\n", facts=[fact, "Another."])
        bank.invalidate(fact)
        await run(bank, repo)
        file = repo.path / where(bank, "doc")
        file.write_text(
            file.read_text(encoding="utf-8").replace("- [ ] ~~The", "- [x] ~~The"), encoding="utf-8"
        )
        repo.commit_all()
        report = await run(bank, repo)
        assert [f for f in bank.fact_rows.values() if f.text == fact and f.live]
        clean(repo, report, TOKEN)


class TestSettled:
    def settle(self, repo: Repo, mark: str, what: str) -> None:
        file = repo.path / "wiki/demo/.mirror/header.json"
        value = json.loads(file.read_text(encoding="utf-8"))
        value.setdefault("secrets", {})[mark] = what
        file.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8", newline="\n")
        repo.commit_all()

    async def test_keep_ends_with_0_and_stays_withheld(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("doc", f"The key: {TOKEN}\n")
        report = await run(bank, repo)
        self.settle(repo, report.secrets[0].fingerprint, "keep")
        for _ in range(2):
            again = await run(bank, repo)
            assert (again.exit_code, again.secrets[0].settled) == (0, "keep")
        clean(repo, again, TOKEN)

    async def test_allow_shows_that_one_only_and_can_be_undone(self, repo: Repo, bank: FakeBank) -> None:
        other = KEYS["npm-token"]
        bank.retain("doc", f"The key: {TOKEN}\n")
        bank.retain("else", f"The key: {other}\n")
        report = await run(bank, repo)
        [mark] = [s.fingerprint for s in report.secrets if s.rule == "github-token"]
        self.settle(repo, mark, "allow")
        report = await run(bank, repo)
        assert [s.rule for s in report.secrets] == ["npm-token"]
        assert TOKEN in repo.show(where(bank, "doc")).decode()
        assert repo.show(where(bank, "doc")[:-3] + ".txt").decode() == f"The key: {TOKEN}\n"
        clean(repo, report, other)
        assert (await run(bank, repo)).commit is None
        assert (await verify(bank, repo.path, Options())).differences == []
        self.settle(repo, mark, "keep")
        await run(bank, repo)
        assert TOKEN not in repo.show(where(bank, "doc")).decode()

    async def test_what_is_settled_stays_in_the_header(self, repo: Repo, bank: FakeBank) -> None:
        bank.retain("doc", f"The key: {TOKEN}\n")
        mark = (await run(bank, repo)).secrets[0].fingerprint
        self.settle(repo, mark, "keep")
        bank.retain("more", "Something else.\n")
        await run(bank, repo)
        header = read_header(repo.show("wiki/demo/.mirror/header.json"), where="h")
        assert header.secrets == {mark: "keep"}


def test_no_format_needs_the_whole_text_in_lower_case() -> None:
    """The cheap first look is by these words: each has to stand in its own rule's matches."""
    for rule in FORMATS:
        assert any(hint in KEYS.get(rule.id, "".join(PLACED.get(rule.id, ("",)))) for hint in rule.hints), (
            rule.id
        )
