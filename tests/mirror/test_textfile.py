"""Document texts through their .txt: byte-exact, readable, safe from git, editors and formatters."""

from __future__ import annotations

import re
import time

import pytest

from mirror import textfile
from tests.mirror import hostile

COUNT = 20_000
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\ufffe\uffff]"
    "|[\ud800-\udfff\U0001fffe\U0001ffff]|[ \t\u00a0\u3000]$",
    re.MULTILINE,
)


def back(file: textfile.TextFile, data: bytes | None = None) -> str:
    return textfile.decode(file.data if data is None else data, file.mode, final_newline=file.final_newline)


def problem(text: str) -> str:
    file = textfile.encode(text)
    shown = file.data.decode("utf-8")
    checks = {
        "text is lost": back(file) != text,
        "CRLF loses text": back(file, file.data.replace(b"\n", b"\r\n")) != text,
        "trim-on-save loses text": back(file, "\n".join(line.rstrip() for line in shown.split("\n")).encode())
        != text,
        "a byte order mark loses text": back(file, b"\xef\xbb\xbf" + file.data) != text,
        "hidden or trailing characters": FORBIDDEN.search(shown) is not None,
        "a line is too wide": max(map(textfile.width, shown.split("\n"))) > textfile.COLUMNS,
        "no last newline": not shown.endswith("\n"),
        "needless mode": not file.mode and shown != text and shown != text + "\n",
    }
    return next((f"{what}: {text!r} -> {file}" for what, wrong in checks.items() if wrong), "")


def test_hostile_texts_come_back() -> None:
    wrong, seen = hostile.first_wrong(hostile.texts(COUNT), problem)
    assert wrong is None
    assert seen == set(hostile.CLASSES)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("", ""),
        ("x", ""),
        ("x\n", ""),
        ("x\n\n\n", ""),
        ("  x", ""),
        ("é 漢字 ❤️\n\tcode\n", ""),
        ("back\\slash\n", ""),
        ("```\n~~~\n````\n", ""),
        ("<<<<<<< HEAD\n", ""),
        ("---\nname: x\nstatus: deleted\n---\n\nbody\n", ""),
        ("x\r\ny\rz\n", "escaped"),
        ("a\0b", "escaped"),
        ("\x1b[31mred", "escaped"),
        ("t  \n", "escaped"),
        ("\ufeffx", "escaped"),
        ("a\u200bb", "escaped"),
        ("\ud800", "escaped"),
        ("a\u2028b", "escaped"),
        ("x" * 100_000, "folded ↩"),
        ("↩" + "x" * 101, "folded ⏎"),
        ("↩⏎↵" + "x" * 101, "folded ⮐"),
        ("↩⏎↵⮐\\" + "x" * 101, "escaped folded ↩"),
        ("漢" * 51, "folded ↩"),
        ("漢" * 50, ""),
        ("x" * 100, ""),
        ("x" * 101 + "\r", "escaped folded ↩"),
    ],
)
def test_modes_and_c17(text: str, mode: str) -> None:
    file = textfile.encode(text)
    assert (file.mode, file.final_newline) == (mode, text.endswith("\n"))
    assert problem(text) == ""


def test_escapes_read_as_what_they_are() -> None:
    file = textfile.encode("a\\b\r\n\x00\u202e\U000e0041 \nt\t\n")
    assert file.data.decode() == "a\\\\b\\r\n\\x00\\u202e\\U000e0041\\x20\nt\\t\n"


def test_folds_stand_behind_a_blank_and_turns_begin_a_line() -> None:
    turn = '{"role": "user", "content": "There are 3 uses of the legacy Query API in services/reporting."}'
    lines = textfile.encode(f"[{turn}, {turn}, {turn}]\n").data.decode().split("\n")
    assert [line[:9] for line in lines if '"role"' in line] == ['[{"role":', '{"role": ', '{"role": ']
    assert all(line.endswith(" ↩") for line in lines[:-2])
    assert not any(line.endswith("  ↩") for line in lines)


def test_a_line_that_grows_keeps_its_folds() -> None:
    text = " ".join(f"word{n}" for n in range(300))
    old = textfile.encode(text).data.split(b"\n")
    new = textfile.encode(text + " and more" * 40).data.split(b"\n")
    assert new[: len(old) - 2] == old[:-2]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "word " * 200_000,
        "\\" * 1_000_000,
        "漢" * 500_000,
        "\r" * 500_000,
        " " * 1_000_000,
        "\n" * 1_000_000,
        "\u0301" * 500_000,
        'a\\"' * 300_000 + "\r",
        '{"role": "a"}, ' * 70_000,
    ],
    ids=["letters", "words", "backslashes", "cjk", "cr", "blanks", "newlines", "accents", "escapes", "turns"],
)
def test_a_megabyte_line_takes_linear_time(text: str) -> None:
    start = time.process_time()
    assert back(textfile.encode(text)) == text
    assert time.process_time() - start < 6


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"\\Uffffffff\n", b"\\", b"a\r\r\n"])
@pytest.mark.parametrize(
    "mode", ["", "escaped", "folded \u21a9", "escaped folded \u21a9", "folded", "nonsense"]
)
def test_a_damaged_file_is_read_without_a_fault(data: bytes, mode: str) -> None:
    assert isinstance(textfile.decode(data, mode, final_newline=False), str)
