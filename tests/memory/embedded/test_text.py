"""What is stored of a text, and where it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.memory.embedded.text import CHUNK_SIZE, check_bank_id, chunk_bounds, content_hash, storable
from console.memory.errors import InvalidInput


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("a\x00b", "ab"),
        ("\x01\x08\x0b\x0c\x0e\x1f", ""),
        ("tab\t line\n return\r\n", "tab\t line\n return\r\n"),
        ("\ud800x\udfff", "x"),
        ("\ufeffbom \u200bzero e\u0301 👩‍👩‍👧 \x7f\x85 ", "\ufeffbom \u200bzero e\u0301 👩‍👩‍👧 \x7f\x85 "),
    ],
    ids=["NUL", "C0 controls", "kept controls", "surrogates", "kept to the byte"],
)
def test_what_is_removed_and_what_is_kept(sent: str, stored: str) -> None:
    assert storable(sent) == stored


def test_the_hash_is_sha256_of_utf8() -> None:
    assert content_hash("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"


@pytest.mark.parametrize(
    "bank_id",
    ["", "_x", "x" * 193, "é" * 97, "a\nb", "a\x7fb", "a\x00", "\ud800"],
    ids=lambda value: repr(value)[:12],
)
def test_a_bank_id_that_no_server_takes_is_refused(bank_id: str) -> None:
    with pytest.raises(InvalidInput):
        check_bank_id(bank_id)


@pytest.mark.parametrize("bank_id", ["x" * 192, "é" * 96, "acme::app", "團隊", "a b", "..", "a/b"])
def test_other_bank_ids_are_taken(bank_id: str) -> None:
    assert check_bank_id(bank_id) == bank_id


PIECES = st.sampled_from(
    ["word ", "Sentence. ", "\n", "\n\n", "句子。", "x" * 700, "- item\n", "é", "`", "\r\n"]
)
LONG = st.lists(PIECES, max_size=120).map(lambda pieces: "".join(pieces) * 9)


@given(LONG)
def test_chunks_cover_the_text_in_order_and_none_is_too_long(text: str) -> None:
    bounds = chunk_bounds(text)
    assert "".join(text[start:stop] for start, stop in bounds) == text
    assert all(stop - start <= CHUNK_SIZE for start, stop in bounds)


@given(LONG, LONG)
def test_text_added_at_the_end_moves_no_earlier_cut(text: str, more: str) -> None:
    before, after = chunk_bounds(text), chunk_bounds(text + more)
    assert after[: len(before) - 1] == before[:-1]


@pytest.mark.parametrize(
    ("filler", "mark"),
    [("w " * 100, "\n\n"), ("w " * 100, "\n"), ("w " * 100, "End. "), ("字" * 100, "。"), ("w" * 100, " ")],
    ids=["paragraph", "line", "sentence", "CJK sentence", "word"],
)
def test_a_cut_falls_on_the_best_boundary(filler: str, mark: str) -> None:
    text = (filler * 25)[:2500] + mark + (filler * 40).strip()
    assert text[: chunk_bounds(text)[0][1]].endswith(mark)


def test_one_endless_line_is_cut_at_the_size() -> None:
    assert chunk_bounds("x" * 7000) == [(0, 3000), (3000, 6000), (6000, 7000)]
