"""Which layer wins, setting by setting, and what each source is called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from console.settings import Settings, SettingsError, load_settings, trust


class World:
    """A throw-away home, repository and environment."""

    def __init__(self, root: Path) -> None:
        self.config, self.data, self.repo = root / "config", root / "data", root / "Ledger Line"
        (self.repo / ".git").mkdir(parents=True)
        (self.repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        self.config.mkdir()
        self.outside = root / "outside"
        self.outside.mkdir()

    def user(self, text: str) -> None:
        (self.config / "config.toml").write_text(text, encoding="utf-8")

    def repo_file(self, text: str, name: str = ".console.toml") -> Path:
        path = self.repo / name
        path.write_text(text, encoding="utf-8")
        return path

    def load(
        self, environ: Mapping[str, str] | None = None, cwd: Path | None = None, **flags: Any
    ) -> Settings:
        return load_settings(
            cwd=cwd or self.repo, environ=environ or {}, config_dir=self.config, data_dir=self.data, **flags
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())


FLAG, ENV, FOREIGN_ENV, REPO, USER = "flag", "env", "hindsight env", "repo", "user"

BANK_CASES = [
    ({FLAG, ENV, FOREIGN_ENV, REPO, USER}, "from-flag", "--bank"),
    ({ENV, FOREIGN_ENV, REPO, USER}, "from-env", "CONSOLE_BANK"),
    ({FOREIGN_ENV, REPO, USER}, "from-hindsight", "HINDSIGHT_BANK_ID"),
    ({REPO, USER}, "from-repo", ".console.toml of the repository"),
    ({USER}, "from-user", "config.toml"),
]


@pytest.mark.parametrize(("given", "bank", "source"), BANK_CASES)
def test_the_strongest_layer_that_names_a_bank_wins(
    world: World, given: set[str], bank: str, source: str
) -> None:
    environ = {}
    if ENV in given:
        environ["CONSOLE_BANK"] = "from-env"
    if FOREIGN_ENV in given:
        environ["HINDSIGHT_BANK_ID"] = "from-hindsight"
    if REPO in given:
        world.repo_file('bank = "from-repo"')
    if USER in given:
        world.user('bank = "from-user"')
    settings = world.load(environ, bank="from-flag" if FLAG in given else None)
    assert settings.bank == bank
    assert source in settings.entries["bank"].source


def test_with_nothing_set_the_store_is_a_file_in_the_data_folder(world: World) -> None:
    settings = world.load(cwd=world.outside)
    assert (settings.address.kind, settings.address.path) == ("sqlite", world.data / "memory.db")
    assert (settings.bank, settings.read_only, settings.warnings) == ("default", False, ())


def test_loading_writes_nothing(world: World) -> None:
    before = sorted(world.repo.parent.rglob("*"))
    world.load()
    assert sorted(world.repo.parent.rglob("*")) == before


def test_an_empty_variable_counts_as_unset(world: World) -> None:
    assert world.load({"CONSOLE_STORE": "", "HINDSIGHT_BANK_ID": " "}, cwd=world.outside).bank == "default"


STORES = [
    ("sqlite:/x/y.db", "sqlite", "/x/y.db"),
    ("sqlite:///x/y.db", "sqlite", "/x/y.db"),
    ("sqlite:here.db", "sqlite", "CWD/here.db"),
    ("here.db", "sqlite", "CWD/here.db"),
    ("HTTPS://Host:8443/base/", "http", "https://Host:8443/base"),
    ("http://localhost:8888", "http", "http://localhost:8888"),
    ("http://[::1]:80", "http", "http://[::1]:80"),
    ("wiki:docs/wiki", "wiki", "CWD/docs/wiki"),
]


@pytest.mark.parametrize(("text", "kind", "location"), STORES)
def test_store_forms(world: World, text: str, kind: str, location: str) -> None:
    address = world.load(store=text).address
    assert (address.kind, address.location) == (kind, location.replace("CWD", str(world.repo)))


BAD_STORES = [
    ("", "empty"),
    ("memory", "not a store"),
    ("sqlite:", "names no file"),
    ("ftp://host/x.db", "not a store"),
    ("http://", "no host"),
    ("http://host:99999", "not a URL"),
    ("http://ho st", "not a URL"),
    ("https://user:hunter2@host", "credentials"),
    ("https://host/?token=hunter2", "query"),
]


@pytest.mark.parametrize(("text", "words"), BAD_STORES)
def test_a_store_that_is_none_is_refused_in_one_line_without_its_secrets(
    world: World, text: str, words: str
) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        world.load(store=text)
    assert caught.value.exit_code == 64
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_profile_by_flag_beats_the_environment_and_one_by_default_does_not(world: World) -> None:
    world.user(
        'default_profile = "work"\nbank = "general"\n[profile.work]\nstore = "https://work"\nbank = "w"\n'
    )
    environ = {"CONSOLE_STORE": "https://env", "CONSOLE_BANK": "e"}
    assert world.load(environ, profile="work").store == "https://work"
    assert world.load(environ).store == "https://env"
    assert (world.load().store, world.load().bank) == ("https://work", "w")


def test_a_profile_that_does_not_exist_is_an_error_naming_those_that_do(world: World) -> None:
    world.user('[profile.work]\nstore = "https://work"\n')
    with pytest.raises(SettingsError, match=r"no profile 'wrok'.*there are: work"):
        world.load(profile="wrok")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("store = [", "not TOML"),
        ("store = 3", "store is not a text"),
        ('read_only = "yes"', "neither true nor false"),
        ("tags = 5", "not a list"),
        ("a = " + "[" * 5000, "not TOML"),
    ],
)
def test_the_users_own_damaged_file_is_an_error_and_names_the_file(
    world: World, text: str, words: str
) -> None:
    world.user(text)
    with pytest.raises(SettingsError, match=words) as caught:
        world.load()
    assert "config.toml" in str(caught.value)


def test_relative_paths_in_the_users_file_start_at_that_file(world: World) -> None:
    world.user('store = "sqlite:mine.db"')
    assert world.load().address.path == world.config / "mine.db"


# The token ---------------------------------------------------------------------------------------------

SECRET = "s3cr3t-token"
TOKENS = [
    # environment, user file, flags, the token that goes out
    ({"HINDSIGHT_API_URL": "https://a", "HINDSIGHT_API_TOKEN": SECRET}, "", {}, SECRET),
    ({"HINDSIGHT_API_URL": "https://a", "HINDSIGHT_API_KEY": SECRET}, "", {}, SECRET),
    ({"CONSOLE_STORE": "https://a", "HINDSIGHT_API_TOKEN": SECRET}, "", {}, SECRET),
    ({}, f'store = "https://a"\ntoken = "{SECRET}"', {}, SECRET),
    ({}, f'[profile.p]\nstore = "https://a"\ntoken = "{SECRET}"', {"profile": "p"}, SECRET),
    ({}, f'store = "https://a"\n[profile.p]\ntoken = "{SECRET}"', {"profile": "p"}, SECRET),
    # the same origin named by another layer is the same place
    (
        {"HINDSIGHT_API_URL": "https://a", "HINDSIGHT_API_TOKEN": SECRET},
        "",
        {"store": "https://A:443/x"},
        SECRET,
    ),
    # another origin is not
    ({"HINDSIGHT_API_URL": "https://a", "HINDSIGHT_API_TOKEN": SECRET}, "", {"store": "https://b"}, None),
    ({"HINDSIGHT_API_URL": "https://a", "HINDSIGHT_API_TOKEN": SECRET}, "", {"store": "http://a"}, None),
    (
        {"HINDSIGHT_API_URL": "https://a", "HINDSIGHT_API_TOKEN": SECRET},
        "",
        {"store": "https://a:8443"},
        None,
    ),
    (
        {"CONSOLE_STORE": "https://b", "HINDSIGHT_API_URL": "https://a", "HINDSIGHT_API_TOKEN": SECRET},
        "",
        {},
        None,
    ),
    ({"HINDSIGHT_API_URL": "https://b"}, f'store = "https://a"\ntoken = "{SECRET}"', {}, None),
    ({"HINDSIGHT_API_TOKEN": SECRET}, "", {"store": "https://a"}, None),
]


@pytest.mark.parametrize(("environ", "user", "flags", "sent"), TOKENS)
def test_a_token_goes_only_to_the_origin_of_the_layer_that_supplied_it(
    world: World, environ: dict[str, str], user: str, flags: dict[str, str], sent: str | None
) -> None:
    world.user(user)
    settings = world.load(environ, **flags)
    assert settings.token() == sent
    said = [line for line in settings.warnings if "not sent" in line]
    assert bool(said) == (sent is None)
    assert SECRET not in repr(settings) + "".join(settings.warnings) + repr(settings.listing())


def test_each_origin_gets_its_own_token(world: World) -> None:
    world.user('store = "https://mine"\ntoken = "mine-token"')
    environ = {"HINDSIGHT_API_URL": "https://theirs", "HINDSIGHT_API_TOKEN": "their-token"}
    assert world.load(environ).token() == "their-token"
    assert world.load(environ, store="https://mine").token() == "mine-token"


def test_a_token_never_goes_to_a_file(world: World) -> None:
    assert world.load({"HINDSIGHT_API_TOKEN": SECRET}).token() is None


def _command(*words: str) -> str:
    import shlex
    import sys

    return shlex.join([sys.executable, "-c", *words]).replace('"', '\\"')


def test_a_token_command_runs_only_when_the_token_is_needed(world: World) -> None:
    mark = world.outside / "ran"
    code = f"import pathlib; pathlib.Path({str(mark)!r}).touch(); print('from-command')"
    world.user(f'store = "https://a"\ntoken_command = "{_command(code)}"')
    settings = world.load()
    assert not mark.exists()
    assert settings.token() == "from-command"
    assert mark.exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (f"import sys; print('{SECRET}'); print('{SECRET}', file=sys.stderr); sys.exit(3)", "ended with 3"),
        ("print()", "token is empty"),
        ("print('a b')", "blanks"),
        ("import sys; sys.stdout.buffer.write(bytes([200]))", "no plain text"),
    ],
)
def test_a_failing_token_command_says_why_and_not_what_it_printed(
    world: World, capfd: pytest.CaptureFixture[str], code: str, words: str
) -> None:
    world.user(f'store = "https://a"\ntoken_command = "{_command(code)}"')
    with pytest.raises(SettingsError, match=words) as caught:
        world.load().token()
    captured = capfd.readouterr()
    assert SECRET not in str(caught.value) + captured.out + captured.err


def test_a_token_command_gets_no_shell(world: World) -> None:
    mark = world.outside / "pwned"
    world.user(f'store = "https://a"\ntoken_command = "no-such-program; touch {mark}"')
    with pytest.raises(SettingsError, match="token_command failed"):
        world.load().token()
    assert not mark.exists()


# The repository's file ------------------------------------------------------------------------------------


def test_an_untrusted_file_sets_what_a_project_may_say(world: World) -> None:
    world.repo_file(
        'bank = "b"\nwiki = "docs/wiki"\nbranch = "trunk"\ntags = ["t"]\nprobes = ["p.toml"]\n[policies]\nx = 1\n'
    )
    settings = world.load()
    assert (settings.bank, settings.wiki, settings.branch, settings.tags) == (
        "b",
        "docs/wiki",
        "trunk",
        ("t",),
    )
    assert (settings.get("probes"), settings.get("policies")) == (("p.toml",), {"x": 1})
    assert settings.warnings == ()


DANGEROUS = [
    'store = "https://evil"',
    'token = "x"',
    'token_command = "touch pwned"',
    'editor = "evil"',
    'pager = "evil"',
    'profile = "p"',
    '[profile.p]\nstore = "https://evil"',
    "read_only = false",
    'wiki = "/etc"',
    'wiki = "../other"',
    'wiki = "C:/x"',
    'wiki = "\\\\\\\\evil\\\\share"',
    'probes = ["../../secrets"]',
    "bank = 5",
    "tags = [1]",
]


@pytest.mark.parametrize("text", DANGEROUS)
def test_what_an_untrusted_file_may_not_say_is_ignored_with_one_line(world: World, text: str) -> None:
    plain = world.load()
    world.repo_file(text)
    settings = world.load()
    assert {**settings.entries} == {**plain.entries}
    assert settings.address == plain.address
    assert len(settings.warnings) == 1
    assert "\n" not in settings.warnings[0]
    assert not (world.repo / "pwned").exists()


def test_trust_is_for_this_content_of_this_file_only(world: World) -> None:
    path = world.repo_file('store = "https://team"\ntoken_command = "echo hi"\n')
    settings = world.load()
    assert settings.repo_file is not None
    trust.record(settings.trust_file, path, settings.repo_file.sha256)
    trusted = world.load()
    assert (trusted.store, trusted.warnings) == ("https://team", ())
    assert "(trusted)" in trusted.entries["store"].source
    world.repo_file('store = "https://evil"\n')
    assert world.load().address.kind == "sqlite"
    world.repo_file('store = "https://team"\ntoken_command = "echo hi"\n')
    trust.record(settings.trust_file, path, None)
    assert world.load().address.kind == "sqlite"


def test_a_trusted_file_still_gets_no_token_of_the_users(world: World) -> None:
    path = world.repo_file('store = "https://team"\n')
    found = world.load().repo_file
    assert found is not None
    trust.record(world.config / "trusted.json", path, found.sha256)
    assert world.load({"HINDSIGHT_API_TOKEN": SECRET}).token() is None


def test_pyproject_is_read_where_there_is_no_file_of_our_own(world: World) -> None:
    world.repo_file('[project]\nname = "x"\n[tool.console]\nbank = "from-pyproject"\n', "pyproject.toml")
    assert world.load().bank == "from-pyproject"
    world.repo_file('bank = "from-own"\n')
    assert world.load().bank == "from-own"


@pytest.mark.parametrize(
    "text", ['tool = "x"', "[tool]\nconsole = 3", "[[tool.console]]", "broken console = ["]
)
def test_a_pyproject_that_is_not_about_us_says_nothing(world: World, text: str) -> None:
    world.repo_file(text, "pyproject.toml")
    assert world.load().warnings == ()


def test_the_file_is_looked_for_at_the_top_of_the_repository(world: World) -> None:
    world.repo_file('bank = "top"')
    (world.repo / "deep" / "er").mkdir(parents=True)
    (world.repo / "deep" / ".console.toml").write_text('bank = "deep"', encoding="utf-8")
    assert world.load(cwd=world.repo / "deep" / "er").bank == "top"
