"""Bank text on a terminal: what must never get through, what must pass unchanged, and how wide it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.text import label, neutralise, one_line, pad, truncate, width, wrap

SHOWN = [
    ("colour", "\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
    ("window title", "\x1b]0;x\x07", "\\x1b]0;x\\x07"),
    ("8-bit CSI", "\x9b2J", "\\x9b2J"),
    ("carriage return", "safe\rEVIL", "safe\\x0dEVIL"),
    ("backspace", "a\x08b", "a\\x08b"),
    ("delete and NUL", "\x7f\x00", "\\x7f\\x00"),
    ("right-to-left override", "a\u202eb", "a\\u202eb"),
    ("isolates", "\u2066x\u2069", "\\u2066x\\u2069"),
    ("zero width blank", "pass\u200bword", "pass\\u200bword"),
    ("word joiner and BOM", "\u2060\ufeff", "\\u2060\\ufeff"),
    ("soft hyphen", "a\xadb", "a\\xadb"),
    ("tag characters", "x\U000e0041", "x\\U000e0041"),
    ("line separator", "a\u2028b", "a\\u2028b"),
    ("lone surrogate", "a\udc80", "a\\udc80"),
    ("private use", "\ue000", "\\ue000"),
    ("a blank that is a letter", "\u3164", "\\u3164"),
    ("joiner between letters", "a\u200db", "a\\u200db"),
    ("a selector without a base", "\ufe0f", "\\ufe0f"),
    ("many selectors", "葛\U000e0101\U000e0102", "葛\U000e0101\\U000e0102"),
]


@pytest.mark.parametrize(("text", "shown"), [case[1:] for case in SHOWN], ids=[case[0] for case in SHOWN])
def test_what_could_act_or_hide_is_shown(text: str, shown: str) -> None:
    assert neutralise(text) == shown


ORDINARY = [
    "plain\nlines\n", "café über naïve", "日本語、中文。한국어", "עברית العربية", "می‌خواهم", "क्‍ष", "ไทย", "e\u0301",
    "👍🏽 👩‍💻 ❤️ 🏳️‍🌈 1️⃣ 🇯🇵 ❤️‍🔥", "∑ ≤ → ™ ©️", "a\xa0b\u3000c", "葛\U000e0100", "\ufffd",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_passes_unchanged(text: str) -> None:
    assert neutralise(text) == text


ANY = st.text(st.characters(), max_size=60) | st.text(
    "ab \t\n\r\x1b\x9b\u200d\u200b\u202e👩日\ufe0f\u0301\udc80\U000e0041"
)


@given(ANY)
def test_nothing_that_acts_ever_gets_through(text: str) -> None:
    shown = neutralise(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in shown.replace("\n", ""))
    assert not set(shown) & set(
        "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\u061c"
    )
    assert not any(0xE0000 <= ord(char) <= 0xE00FF for char in shown)
    shown.encode("utf-8")
    assert neutralise(shown) == shown


@given(ANY)
def test_one_line_is_one_line(text: str) -> None:
    assert "\n" not in one_line(text) + label(text)


def test_an_id_keeps_its_blanks() -> None:
    assert label("a  b\tc\nd ") == "a  b\\x09c\\x0ad "


WIDTHS = [
    ("", 0), ("abc", 3), ("é", 1), ("e\u0301", 1), ("日本", 4), ("ｱ", 1), ("Ａ", 2), ("👍", 2), ("👍🏽", 2), ("👩‍💻", 2), ("❤️", 2),
    ("🇯🇵", 2), ("🇯🇵🇩🇪", 4), ("क्‍ष", 2), ("ไทย", 3),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns"), WIDTHS)
def test_width_counts_columns(text: str, columns: int) -> None:
    assert width(text) == columns


@given(ANY, st.integers(0, 30))
def test_cut_text_fits_and_is_the_beginning(text: str, columns: int) -> None:
    line = one_line(text)
    cut = truncate(line, columns)
    assert width(cut) <= columns
    assert cut == line or cut == "" or (cut.endswith("…") and line.startswith(cut[:-1]))


@given(ANY, st.integers(10, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, columns: int) -> None:
    shown = neutralise(text)
    lines = wrap(shown, columns, indent="  ")
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(shown.split())


def test_padding_goes_to_either_side() -> None:
    assert (pad("日", 4), pad("日", 4, right=True), pad("long", 2)) == ("日  ", "  日", "long")
