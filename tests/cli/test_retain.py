"""What ``console retain`` takes, what ids it gives, and what it refuses by name."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from console.cli.inputs import batches, decode, ulid

from .conftest import Console

ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}\n")


@pytest.fixture
def repo(home: Path) -> Path:
    """The home's own repository, with the current folder at its top."""
    top = home / "repo"
    (top / ".git").mkdir(parents=True)
    (top / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    os.chdir(top)
    return top


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


TEXTS = [
    "Postgres runs on port 5433.",
    "word",
    "and/or is no path because of the blanks",
    "https://example.org/page.html",
    "line one\nnotes.md",
    "-- a dash",
    "日本語の事実。",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_retained_whole_under_a_new_ulid(console: Console, text: str) -> None:
    ran = console("retain", "--", text)
    assert ran.code == 0
    assert ULID.fullmatch(ran.out)
    assert console("documents", "get", ran.out.strip(), "--json").json["original_text"] == text


def test_text_says_that_a_path_is_a_text(console: Console) -> None:
    ran = console("retain", "--text", "notes/today.md")
    assert console("documents", "get", ran.out.strip(), "--text").out == "notes/today.md\n"


def test_a_file_wins_over_a_text(console: Console, home: Path) -> None:
    write(home / "word", "The content of the file.")
    assert console("retain", "word").out == "word\n"


def test_standard_input_is_one_document(console: Console) -> None:
    ran = console("retain", "-", "--id", "piped", stdin=b"First fact.\r\nSecond fact.\n")
    assert (ran.code, ran.out) == (0, "piped\n")
    assert (
        console("documents", "get", "piped", "--json").json["original_text"]
        == "First fact.\r\nSecond fact.\n"
    )


def test_a_file_is_named_by_its_path_in_its_repository(console: Console, repo: Path) -> None:
    write(repo / "docs" / "a.md", "Fact a.")
    os.chdir(repo / "docs")
    assert console("retain", "a.md").out == "docs/a.md\n"
    os.chdir(repo.parent)
    assert console("retain", str(repo / "docs" / "a.md")).out == "docs/a.md\n"


def test_a_file_outside_any_repository_tells_nothing_of_the_home(console: Console, home: Path) -> None:
    write(home / "work" / "a.md", "Fact a.")
    assert console("retain", "work/a.md").out == "work/a.md\n"
    (home / "elsewhere").mkdir()
    os.chdir(home / "elsewhere")
    assert console("retain", str(home / "work" / "a.md")).out == "work/a.md\n"


def test_a_folder_gives_its_text_files_and_names_what_it_leaves_out(console: Console, repo: Path) -> None:
    write(repo / "docs" / "a.md", "Fact a.")
    write(repo / "docs" / "deep" / "b.txt", "Fact b.")
    write(repo / "docs" / ".hidden" / "c.txt", "Fact c.")
    write(repo / "docs" / "node_modules" / "d.txt", "Fact d.")
    write(repo / "docs" / "image.png", b"\x89PNG\0\0")
    write(repo / "docs" / "empty.md", "")
    ran = console("retain", "docs")
    assert (ran.code, ran.out) == (0, "docs/a.md\ndocs/deep/b.txt\n")
    assert "left out docs/image.png: is not a text" in ran.err
    assert "left out docs/empty.md: is empty" in ran.err


def test_a_folder_elsewhere_is_named_from_itself_on(console: Console, home: Path) -> None:
    write(home / "lib" / "doc" / "a" / "README", "Fact a.")
    write(home / "lib" / "doc" / "b" / "README", "Fact b.")
    (home / "here").mkdir()
    os.chdir(home / "here")
    assert console("retain", str(home / "lib" / "doc")).out == "doc/a/README\ndoc/b/README\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
def test_strange_file_names_give_usable_ids(console: Console, home: Path) -> None:
    write(home / "d" / "new\nline  two.txt", "Fact a.")
    write(Path(os.fsdecode(bytes(home) + b"/d/bad\xff.txt")), "Fact b.")
    ran = console("retain", "d")
    assert (ran.code, ran.out) == (0, "d/bad\\xff.txt\nd/new\\x0aline  two.txt\n")
    ids = {row["id"] for row in console("documents", "--json").json["items"]}
    assert ids == {"d/bad\\xff.txt", "d/new\nline  two.txt"}


def test_a_dry_run_counts_and_sends_nothing(console: Console, repo: Path) -> None:
    write(repo / "docs" / "a.md", "Fact a.")
    ran = console("retain", "docs", "--dry-run", "--json")
    assert ran.json == {"dry_run": True, "items_count": 1, "document_ids": ["docs/a.md"]}
    assert console("banks", "--json").json["total"] == 0


def test_many_files_are_all_retained(console: Console, home: Path) -> None:
    for n in range(120):
        write(home / "many" / f"{n:03}.txt", f"Service number {n} listens on port {n + 1000}.")
    assert console("retain", "many", "--json").json["items_count"] == 120
    page = console("documents", "--limit", "7", "--json").json
    assert (page["total"], len(page["items"])) == (120, 7)


def test_options_reach_the_document(console: Console) -> None:
    console("retain", "One fact.", "--id", "d", "--tag", "b", "--tag", "a", "--tag", "a", "--context", "c",
            "--metadata", "k=v=w", "--at", "2026-11-01T10:00:00+02:00")  # fmt: skip
    found = console("documents", "get", "d", "--json").json
    assert (found["tags"], found["document_metadata"]) == (["a", "b"], {"k": "v=w"})
    assert found["retain_params"]["context"] == "c"
    assert found["retain_params"]["event_date"].startswith("2026-11-01T08:00:00")


def test_append_adds_and_plain_retain_replaces(console: Console) -> None:
    console("retain", "One.", "--id", "d")
    console("retain", "Two.", "--id", "d", "--append")
    assert console("documents", "get", "d", "--json").json["original_text"] == "One.\nTwo."
    console("retain", "Three.", "--id", "d")
    assert console("documents", "get", "d", "--json").json["original_text"] == "Three."


def test_a_repositorys_tags_are_added(console: Console, repo: Path) -> None:
    write(repo / ".console.toml", 'tags = ["project:x"]')
    console("retain", "One fact.", "--id", "d", "--tag", "mine")
    assert console("documents", "get", "d", "--json").json["tags"] == ["mine", "project:x"]


REFUSED = {
    "nul.bin": (b"a\0b", "NUL"),
    "latin.txt": (b"caf\xe9", "not UTF-8"),
    "empty.txt": (b" \n", "is empty"),
    "utf16.txt": (b"\xff\xfea", "not valid utf-16"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_named_file_that_is_no_text_is_refused_by_name_and_nothing_is_sent(
    console: Console, home: Path, name: str
) -> None:
    data, says = REFUSED[name]
    write(home / name, data)
    write(home / "good.txt", "A good fact.")
    ran = console("retain", "good.txt", name)
    assert (ran.code, ran.out) == (1, "")
    assert f"{name}: " in ran.err
    assert says in ran.err
    assert console("banks", "--json").json["total"] == 0


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(console: Console, home: Path) -> None:
    write(home / "secret.txt", "x")
    (home / "secret.txt").chmod(0)
    ran = console("retain", "secret.txt")
    assert (ran.code, "secret.txt: permission denied" in ran.err) == (1, True)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are made differently there")
def test_a_pipe_is_not_waited_for(console: Console, home: Path) -> None:
    os.mkfifo(home / "pipe.txt")
    ran = console("retain", "pipe.txt")
    assert (ran.code, "not a regular file" in ran.err) == (1, True)


@pytest.mark.skipif(sys.platform == "win32", reason="links are made differently there")
def test_a_broken_link_is_named(console: Console, home: Path) -> None:
    (home / "link.txt").symlink_to(home / "nowhere")
    ran = console("retain", "link.txt")
    assert (ran.code, "link.txt: no such file" in ran.err) == (1, True)


def test_one_id_cannot_be_for_two_files(console: Console, home: Path) -> None:
    write(home / "a.txt", "A.")
    write(home / "b.txt", "B.")
    assert console("retain", "a.txt", "b.txt", "--id", "x").code == 64


def test_two_files_with_one_id_are_refused_with_both_names(console: Console, home: Path) -> None:
    write(home / "one" / "docs" / "a.md", "A.")
    write(home / "two" / "docs" / "a.md", "B.")
    (home / "here").mkdir()
    os.chdir(home / "here")
    ran = console("retain", str(home / "one/docs/a.md"), str(home / "two/docs/a.md"))
    assert ran.code == 64
    assert "one/docs/a.md and" in ran.err


DECODED = [
    ("plain", b"caf\xc3\xa9\r\n", "café\r\n"),
    ("UTF-8 with a mark", b"\xef\xbb\xbfx", "x"),
    ("UTF-16", "日本\n".encode("utf-16"), "日本\n"),
    ("UTF-16, big end first", b"\xfe\xff" + "日本".encode("utf-16-be"), "日本"),
    ("UTF-32", "日本".encode("utf-32"), "日本"),
    ("a declared encoding", b"# -*- coding: latin-1 -*-\ncaf\xe9", "# -*- coding: latin-1 -*-\ncafé"),
    (
        "XML",
        b"<?xml version='1.0' encoding='shift_jis'?>\x93\xfa",
        "<?xml version='1.0' encoding='shift_jis'?>日",
    ),
]


@pytest.mark.parametrize(("data", "text"), [case[1:] for case in DECODED], ids=[case[0] for case in DECODED])
def test_texts_are_decoded_by_what_they_say_of_themselves(data: bytes, text: str) -> None:
    assert decode(data) == text


def test_ulids_sort_by_time_and_have_their_known_form() -> None:
    assert ulid(0, bytes(10)) == "0" * 26
    assert ulid(1469918176385, bytes(10)).startswith("01ARYZ6S41")
    assert ulid(1) < ulid(2) < ulid(1000)


def test_batches_are_bounded_in_number_and_size() -> None:
    texts = [(str(n), "x" * size) for n, size in enumerate([1, 1, 1, 50, 5, 5, 5])]
    made = [
        [size for _, text in batch for size in [len(text)]]
        for batch in batches(texts, documents=2, characters=10)
    ]
    assert made == [[1, 1], [1], [50], [5, 5], [5]]
