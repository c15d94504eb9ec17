"""Pages after the tools that people run over a repository: no mark, no edit, whatever they rewrite."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import mdformat
import pytest

from mirror import marks, page
from mirror.keys import fold
from mirror.parse import parse
from tests.mirror import hostile
from tests.mirror.test_page import CHUNK, GOLDEN, NAME, SOURCE, fact


def _mdformat(text: str) -> str:
    return mdformat.text(text, extensions={"gfm", "frontmatter"})


def _bare_mdformat(text: str) -> str:
    return mdformat.text(text)


def _trim(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


def _star_bullets(text: str) -> str:
    """What older prettier versions and some editors write."""
    return re.sub(r"^- ", "*   ", text, flags=re.MULTILINE)


def _wrap(text: str) -> str:
    """``prettier --prose-wrap always``: items broken at blanks, continued behind an indent."""
    out = []
    for line in text.split("\n"):
        while line.startswith(("- ", "  ")) and len(line) > 60 and (cut := line.rfind(" ", 4, 60)) > 0:
            # Never where the rest would start a block of its own: prettier does not either.
            out.append(line[:cut])
            line = "  " + line[cut + 1 :]
        out.append(line)
    return "\n".join(out)


FORMATTERS = [_mdformat, _bare_mdformat, _trim, _crlf, _star_bullets]
CHUNKS = page.render(
    replace(SOURCE, facts=(fact(CHUNK, chunk_index=3),), text=CHUNK), text_name=NAME
).page.decode()


@pytest.mark.parametrize("formatter", [*FORMATTERS, _wrap])
@pytest.mark.parametrize("written", [GOLDEN, CHUNKS], ids=["facts", "chunks"])
def test_no_formatter_makes_a_mark_or_an_edit(formatter: Callable[[str], str], written: str) -> None:
    result = marks.read(
        parse(formatter(written).encode()), document_id="ses_01JX8Q4WZC", base=parse(written.encode())
    )
    assert (result.marks, result.refused) == ((), ())


def test_mdformat_leaves_a_page_as_it_is() -> None:
    assert _mdformat(GOLDEN) == GOLDEN


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_hostile_facts_survive_formatters(formatter: Callable[[str], str]) -> None:
    texts = [text for text, _ in hostile.texts(400, 5) if fold(text)]
    for start in range(0, len(texts), 20):
        facts = tuple(fact(text, n, live=n % 2 == 0) for n, text in enumerate(texts[start : start + 20]))
        written = page.render(replace(SOURCE, facts=facts, records=()), text_name=NAME).page.decode()
        try:
            formatted = formatter(written)
        except ValueError:
            continue  # mdformat refuses what it would render otherwise, and leaves the file
        result = marks.read(parse(formatted.encode()), base=parse(written.encode()))
        assert (result.marks, result.refused) == ((), ()), formatted
