"""What runs without a person: the workflow, the check of marks, the sync that watches, a review taken back."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from console.github_workflow import Bank, quote, render
from tests.cli.conftest import Console
from tests.test_pull_request import TOKEN, GitHub, github, server

__all__ = ["github", "server"]  # fixtures

WORKFLOW = ".github/workflows/memory-console.yml"
_CONSOLE = "import sys; from console.cli import main; sys.exit(main())"
PORT = "Locally it runs on port 5433."


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def repo(story: Console, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a bare remote; the current folder; the bank is the demo story's, by the name ``team``."""
    config = home / "gitconfig"
    config.write_text(
        "[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n", encoding="utf-8"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GITHUB_ACTIONS", "GITHUB_REPOSITORY", "GITHUB_TOKEN", "GH_TOKEN", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    store = home / "bank.db"
    monkeypatch.setenv("CONSOLE_STORE", f"sqlite:{store}")
    monkeypatch.setenv("CONSOLE_BANK", "team")
    story("retain", "--id", "db", "--text", "Ledgerline uses Postgres 16. Locally it runs on port 5433.")
    story("retain", "--id", "style", "--text", "We format with ruff. Tests run with pytest.")
    git(home, "init", "-q", "--bare", "origin.git")
    git(home, "clone", "-q", str(home / "origin.git"), "work")
    work = home / "work"
    (work / "code.py").write_text("print()\n", encoding="utf-8")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    git(work, "push", "-q", "origin", "main")
    git(work, "remote", "set-head", "origin", "main")
    monkeypatch.chdir(work)
    return work


def page(repo: Path, document: str) -> Path:
    return next(
        p for p in repo.glob("wiki/team/pages/*/*.md") if f'document: "{document}"' in p.read_text("utf-8")
    )


def mark(repo: Path, document: str, old: str, new: str, message: str) -> None:
    file = page(repo, document)
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8", newline="\n")
    git(repo, "commit", "-q", "-am", message)


class TestWorkflow:
    def load(self, *banks: Bank) -> dict[str, Any]:
        text = render(banks or (Bank("team", "team"),), wiki="wiki", branch="main", version="1.2.3")
        assert text.isascii()
        found = yaml.safe_load(text)
        assert isinstance(found, dict)
        return found

    def test_a_pull_request_gets_reading_and_no_secret(self) -> None:
        flow = self.load()
        job = flow["jobs"]["check"]
        assert (flow["permissions"], job["permissions"]) == ({}, {"contents": "read"})
        assert job["if"] == "github.event_name == 'pull_request'"
        assert "secrets." not in yaml.safe_dump(job)
        assert "pull_request_target" not in yaml.safe_dump(flow)
        assert job["steps"][0]["with"]["persist-credentials"] is False

    def test_the_sync_runs_one_at_a_time_for_each_bank(self) -> None:
        job = self.load(Bank("b", "b"), Bank("a::x", "a-x--12345678"))["jobs"]["sync"]
        assert job["concurrency"] == {"group": "mirror-${{ matrix.slug }}", "cancel-in-progress": False}
        assert job["permissions"] == {"contents": "write", "pull-requests": "write"}
        assert job["strategy"]["matrix"]["include"] == [
            {"bank": "a::x", "slug": "a-x--12345678"},
            {"bank": "b", "slug": "b"},
        ]

    def test_nothing_is_pasted_into_a_script(self) -> None:
        for job in self.load()["jobs"].values():
            for step in job["steps"]:
                assert "${{" not in step.get("run", "")

    def test_it_runs_when_it_should(self) -> None:
        on = self.load()[True]  # YAML 1.1 reads the key `on` as a truth value; GitHub does not
        assert on["push"] == {"branches": ["main"]}
        assert on["schedule"] == [{"cron": "17 * * * *"}]
        assert on["pull_request"] == {"paths": ["wiki/**"]}

    @pytest.mark.parametrize(
        "name", ["a: b", "- x", "#", '"', "\\", "決定", "😀", "é", "\x7f", "no", "{{", "%"]
    )
    def test_every_bank_name_is_one_yaml_string(self, name: str) -> None:
        assert yaml.safe_load(quote(name)) == name

    def test_a_bank_name_is_no_expression(self) -> None:
        shown = yaml.safe_load(quote("a ${{ secrets.X }}"))
        assert re.findall(r"\$\{\{(.*?)\}\}", shown)[0].strip().startswith("'${{")

    def test_the_steps_run(self, repo: Path, console: Console, home: Path) -> None:
        """Both jobs as shell, in a clone, as a runner does it."""
        assert console("mirror", "init", "--branch", "--push").code == 0
        console("retain", "--id", "new", "--text", "Backups run nightly.")
        flow = self.load(Bank("team", "team"))
        clone = home / "runner"
        git(home, "clone", "-q", str(home / "origin.git"), str(clone))
        done, summary = self.steps(flow, "sync", clone, {"BANK": "team", "HINDSIGHT_API_URL": "unused"})
        # The one thing that is missing here is GitHub itself.
        assert (done.returncode, "::error::console mirror sync ended with 1" in done.stdout) == (1, True)
        assert "    1 added: commit" in summary
        assert "no repository on GitHub" in summary
        tip = git(home / "origin.git", "rev-parse", "mirror/team")

        git(clone, "fetch", "-q")
        git(clone, "switch", "-q", "--detach", tip)
        base = git(clone, "rev-parse", "origin/main")
        done, summary = self.steps(flow, "check", clone, {"BASE": base})
        assert done.returncode == 0, done.stderr
        assert "Backups run nightly" in summary

        git(clone, "switch", "-q", "-c", "review")
        mark(clone, "new", "nightly", "weekly", "Rewrite a fact")
        done, _ = self.steps(flow, "check", clone, {"BASE": base, "GITHUB_ACTIONS": "true"})
        assert done.returncode == 3
        assert re.search(r"^::error file=wiki/team/pages/\S+\.md,line=\d+,", done.stdout, re.MULTILINE)

    def steps(
        self, flow: dict[str, Any], job: str, folder: Path, more: dict[str, str]
    ) -> tuple[subprocess.CompletedProcess[str], str]:
        """The job's own scripts, the installation left out."""
        bash = shutil.which("bash")
        if bash is None:
            pytest.skip("the runner's shell is not here")
        scripts = [s["run"] for s in flow["jobs"][job]["steps"] if "run" in s and s["name"] != "Install"]
        assert scripts
        summary = folder.parent / f"{job}.summary.md"
        summary.write_text("", encoding="utf-8")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        env = {**os.environ, **flow["env"], "GITHUB_STEP_SUMMARY": str(summary), "PATH": path, **more}
        done = subprocess.CompletedProcess[str]([], 0, "", "")
        for script in scripts:
            done = subprocess.run(
                [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                cwd=folder,
                env=env,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                break
        return done, summary.read_text("utf-8")


class TestInitGithub:
    def test_writes_it_once(self, repo: Path, console: Console) -> None:
        ran = console("mirror", "init", "--github")
        assert (ran.code, f"wrote {WORKFLOW}" in ran.out) == (0, True)
        assert 'bank: "team"' in (repo / WORKFLOW).read_text("utf-8")
        assert console("mirror", "init", "--github").out == f"{WORKFLOW} is up to date\n"

    def test_a_dry_run_writes_nothing(self, repo: Path, console: Console) -> None:
        ran = console("mirror", "init", "--github", "--dry-run")
        assert (ran.code, "cancel-in-progress: false" in ran.out) == (0, True)
        assert not (repo / ".github").exists()

    def test_another_one_is_shown_and_not_overwritten_unasked(self, repo: Path, console: Console) -> None:
        file = repo / WORKFLOW
        file.parent.mkdir(parents=True)
        file.write_text("name: mine\n", encoding="utf-8")
        ran = console("mirror", "init", "--github")
        assert (ran.code, "-name: mine" in ran.out, "add --yes" in ran.err) == (64, True, True)
        assert file.read_text("utf-8") == "name: mine\n"
        assert console("mirror", "init", "--github", "--yes").code == 0
        assert "cancel-in-progress" in file.read_text("utf-8")

    def test_all_banks_of_the_repository_are_in_it(self, repo: Path, console: Console) -> None:
        console("mirror", "init")
        console("--bank", "a::b", "retain", "--text", "Another bank.")
        console("--bank", "a::b", "mirror", "init")
        console("mirror", "init", "--github")
        rows = yaml.safe_load((repo / WORKFLOW).read_text("utf-8"))["jobs"]["sync"]["strategy"]["matrix"][
            "include"
        ]
        assert [row["bank"] for row in rows] == ["a::b", "team"]

    def test_opens_no_bank(self, repo: Path, console: Console) -> None:
        assert console("--store", "https://127.0.0.1:9", "mirror", "init", "--github").code == 0


class TestCheck:
    def test_needs_no_bank(self, repo: Path, console: Console) -> None:
        console("mirror", "init")
        mark(repo, "db", f"- {PORT}", f"- [ ] {PORT}", "Take it back")
        ran = console("--store", "https://127.0.0.1:9", "mirror", "check")
        assert (ran.code, ran.err) == (0, "")
        assert f": {PORT}" in ran.out
        assert "1 marks, 0 edits that are no marks" in ran.out

    def test_an_edit_that_is_no_mark_fails_with_the_line_to_write(self, repo: Path, console: Console) -> None:
        console("mirror", "init")
        mark(repo, "db", "port 5433", "port 5434", "Correct it")
        ran = console("mirror", "check")
        assert ran.code == 3
        name = page(repo, "db").relative_to(repo).as_posix()
        assert re.search(rf"refused   {re.escape(name)}:\d+: ", ran.out)
        assert f"write:  - [ ] {PORT} <!-- f:" in ran.out

    def test_only_what_the_range_touches_counts(self, repo: Path, console: Console) -> None:
        console("mirror", "init")
        mark(repo, "db", "port 5433", "port 5434", "An old mistake")
        base = git(repo, "rev-parse", "HEAD")
        mark(repo, "style", "- We format", "- [ ] We format", "Take it back")
        assert console("mirror", "check").code == 3
        ran = console("--json", "mirror", "check", f"{base}...HEAD")
        assert (ran.code, len(ran.json["marks"]), ran.json["refused"]) == (0, 1, [])

    def test_an_unknown_commit_is_one_line(self, repo: Path, console: Console) -> None:
        ran = console("mirror", "check", "nope...HEAD")
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)

    def test_a_text_cannot_order_the_runner(
        self, repo: Path, console: Console, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        console("retain", "--id", "evil", "--text", "Use ##[add-mask]x and %0A::error::y here.")
        console("mirror", "init")
        mark(repo, "evil", "here.", "there.", "Edit")
        ran = console("mirror", "check")
        assert ran.code == 3
        orders = [line for line in ran.out.splitlines() if line.lstrip().startswith("::")]
        assert len(orders) == 1
        assert "%250A" in orders[0]
        assert not any("##[" in line for line in ran.out.splitlines() if line not in orders)


class TestOptions:
    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["--pr"], "--pr needs --branch and --push"),
            (["--push", "--offline"], "give one of them"),
            (["--check", "--push"], "--check writes nothing"),
            (["--watch", "0"], "--watch"),
        ],
    )
    def test_that_do_not_go_together(self, repo: Path, console: Console, words: list[str], said: str) -> None:
        ran = console("mirror", "sync", *words)
        assert (ran.code, said in ran.err) == (64, True)

    def test_the_sync_stands_when_the_pull_request_fails(self, repo: Path, console: Console) -> None:
        console("mirror", "init", "--branch", "--push")
        console("retain", "--id", "new", "--text", "Backups run nightly.")
        ran = console("--json", "mirror", "sync", "--branch", "--push", "--pr")
        assert (ran.code, ran.json["pushed"], ran.json["exit_code"]) == (1, True, 1)
        assert "no repository on GitHub" in ran.json["pull_request"]["error"]


class TestPullRequest:
    """The whole command against a real HTTP server in GitHub's place."""

    @pytest.fixture
    def online(self, repo: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("GITHUB_API_URL", server)
        monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        monkeypatch.setattr("console.github.shutil.which", lambda *_args, **_more: None)
        return repo

    def test_one_is_opened_kept_up_to_date_and_left_when_merged(
        self, online: Path, console: Console, github: GitHub
    ) -> None:
        sync = ("mirror", "sync", "--branch", "--push", "--pr", "--yes")
        assert "no pull request: it is on main already" in console(*sync).out
        console("retain", "--id", "new", "--text", "Backups run nightly, fixes #12, says @team.")
        ran = console(*sync)
        assert (ran.code, "pull request #1 opened: https://github.com/o/r/pull/1" in ran.out) == (0, True)
        pull = github.pulls[0]
        assert pull["title"] == "Memory of team: 1 fact added; 1 document added"
        assert "Backups run nightly" in pull["body"]
        assert not re.search(r"#12|@team", pull["body"])
        assert "pull request #1 unchanged" in console(*sync).out
        console("retain", "--id", "newer", "--text", "Restores are tried monthly.")
        assert "pull request #1 updated" in console(*sync).out
        git(online, "fetch", "-q")
        git(online, "pull", "-q")
        git(online, "merge", "-q", "--no-ff", "-m", "Merge", "origin/mirror/team")
        git(online, "push", "-q")
        ran = console(*sync)
        assert (ran.code, "nothing that main does not have" in ran.out) == (0, True)
        assert TOKEN not in ran.out + ran.err


class TestRestoreAReview:
    @pytest.fixture
    def reviewed(self, repo: Path, console: Console) -> Path:
        """#7 took back two facts of two documents, #8 one more."""
        console("mirror", "init")
        mark(repo, "db", f"- {PORT}", f"- [ ] {PORT}", "Not so (#7)")
        mark(repo, "style", "- We format", "- [ ] We format", "Nor this (#7)")
        mark(repo, "style", "- Tests run", "- [ ] Tests run", "One more (#8)")
        git(repo, "push", "-q")
        assert console("--json", "mirror", "sync").json["sent"] == 3
        return repo

    def live(self, console: Console) -> set[str]:
        rows = console("--json", "memories", "list").json["items"]
        return {row["text"] for row in rows if row.get("state") != "invalidated"}

    def test_now(self, reviewed: Path, console: Console) -> None:
        ran = console("mirror", "restore", "--pr", "7", "--now")
        assert (ran.code, "restored 2 memories that #7 took back" in ran.out) == (0, True)
        assert {PORT, "We format with ruff."} <= self.live(console)
        assert "Tests run with pytest." not in self.live(console)
        ran = console("--json", "mirror", "sync")
        assert (ran.code, ran.json["unsettled"], ran.json["sent"]) == (0, [], 0)

    def test_as_marks(self, reviewed: Path, console: Console) -> None:
        ran = console("--json", "mirror", "restore", "--pr", "7")
        assert (ran.code, ran.json["marked"], ran.json["left"]) == (0, 2, [])
        git(reviewed, "commit", "-q", "-am", "Restore")
        assert console("--json", "mirror", "sync").json["sent"] == 2
        assert {PORT, "We format with ruff."} <= self.live(console)

    def test_an_unknown_one_names_those_that_are_there(self, reviewed: Path, console: Console) -> None:
        ran = console("mirror", "restore", "--pr", "9")
        assert (ran.code, "there are some of #7, #8" in ran.err) == (1, True)

    def test_one_fact_now_leaves_no_record(self, reviewed: Path, console: Console) -> None:
        assert console("mirror", "restore", PORT, "--now").code == 0
        assert console("--json", "mirror", "sync").json["unsettled"] == []
        shards = "".join(p.read_text("utf-8") for p in reviewed.glob("wiki/team/.mirror/*.jsonl"))
        records = [r["text"] for line in shards.splitlines() for r in json.loads(line).get("records", ())]
        assert PORT not in records


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
class TestWatch:
    def start(self, repo: Path, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", _CONSOLE, "mirror", "sync", "--watch", "1", *words],
            cwd=repo,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )

    def line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline()

    def test_one_line_for_a_change_and_a_clean_end(self, repo: Path, console: Console) -> None:
        process = self.start(repo, "--yes")
        try:
            first = self.line(process)
            console("retain", "--id", "new", "--text", "Backups run nightly.")
            second = self.line(process)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
        assert "2 added: commit" in first
        assert "1 added: commit" in second
        assert out == ""
        assert process.returncode in (0, 130)
        assert "Traceback" not in err
        assert git(repo, "status", "--porcelain") == ""

    def test_says_why_it_waits_and_goes_on(self, repo: Path, console: Console, home: Path) -> None:
        process = self.start(repo, "--yes")
        try:
            away = home / "away.git"
            assert "2 added: commit" in self.line(process)
            (home / "origin.git").rename(away)
            assert process.stderr is not None
            lines = [process.stderr.readline(), process.stderr.readline()]
            away.rename(home / "origin.git")
            console("retain", "--id", "new", "--text", "Backups run nightly.")
            assert "1 added: commit" in self.line(process)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
            process.kill()
        assert "watching bank team every 1 s" in lines[0]
        assert "could not be fetched" in lines[1]
        assert "again in 2 s" in lines[1]

    def test_what_waiting_does_not_mend_ends_it(self, repo: Path) -> None:
        process = self.start(repo)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, "no wiki of bank 'team' here yet" in err) == (1, True)
