"""Facts as one line of markdown: what is shown is what was said, on GitHub's renderer and on markdown-it."""

from __future__ import annotations

import html
import re

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt

from mirror.escape import escape, unescape, visible
from mirror.keys import fold
from tests.mirror import hostile

COUNT = 20_000
BATCH = 500
EXTENSIONS = ["table", "strikethrough", "autolink", "tasklist"]
_ITEM = re.compile(r"<li>(.*?)</li>", re.DOTALL)
_OURS = re.compile(r'</?(?:code|del|s)>|<a href="[^"<>]*">|</a>|<input type="checkbox" disabled="" /> ')
_TAG = re.compile(r"<(?!/?(?:code|del|s|a)\b)[^>]*>")


def github(markdown: str) -> str:
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    return str(cmarkgfm.markdown_to_html_with_extensions(markdown, options=options, extensions=EXTENSIONS))


_MARKDOWN_IT = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def markdown_it(markdown: str) -> str:
    return str(_MARKDOWN_IT.render(markdown))


def said(item: str) -> str:
    """A rendered item as its reader sees it, code spans with their backticks."""
    item = item.split("<!-- f:000000000000 -->")[0]
    item = re.sub(r"</?code>", "`", item)
    return html.unescape(_OURS.sub("", item)).strip()


def check(facts: list[str], render: object, *, struck: bool) -> str:
    assert callable(render)
    form = "- [ ] ~~{}~~ <!-- f:000000000000 -->" if struck else "- {} <!-- f:000000000000 -->"
    out = render("\n".join(form.format(escape(fact, struck=struck)) for fact in facts) + "\n")
    items = _ITEM.findall(out)
    if len(items) != len(facts):
        return (
            ""
            if len(facts) == 0
            else f"{len(items)} items of {len(facts)}"
            if len(facts) > 1
            else f"{facts} {out}"
        )
    for fact, item in zip(facts, items, strict=True):
        shown = said(item).removeprefix("[ ] ") if struck and "checkbox" not in item else said(item)
        if "checked" in item.split("<del>")[0]:
            return f"{fact!r}: its box is ticked"
        body = item.split("<!-- f:000000000000 -->")[0]
        foreign = [tag for tag in _TAG.findall(body) if "checkbox" not in tag]
        strikes = len(re.findall(r"<(?:del|s)>", body))
        if shown != visible(fold(fact)) or foreign or strikes != struck:
            return f"{fact!r} -> {escape(fact, struck=struck)!r} -> {item!r}"
    return ""


FACTS = [(text, held) for text, held in hostile.texts(COUNT, hostile.SEED + 1) if fold(text)]


@pytest.mark.parametrize("quarter", range(4))
@pytest.mark.parametrize("render", [github, markdown_it])
@pytest.mark.parametrize("struck", [False, True])
def test_hostile_facts_render_as_themselves(render: object, struck: bool, quarter: int, full: bool) -> None:
    facts = [text for text, _ in FACTS][quarter::4]
    if struck and render is markdown_it and not full:
        facts = facts[
            ::4
        ]  # it takes ten times as long as cmark-gfm, and the strike adds little to what it escapes
    for start in range(0, len(facts), BATCH):
        part = facts[start : start + BATCH]
        if check(part, render, struck=struck):
            wrong = [problem for fact in part if (problem := check([fact], render, struck=struck))]
            assert wrong == []
            assert check(part, render, struck=struck) == ""
    assert {name for _, held in FACTS for name in held} == set(hostile.CLASSES)


def test_hostile_facts_are_read_back() -> None:
    for text, _ in FACTS:
        for struck in (False, True):
            line = escape(text, struck=struck)
            assert unescape(line) == fold(text)
            assert line.isprintable() or max(line) >= "\ue000"
            assert not re.search(r"(?<!\\)<!--", line), "nothing may look like the comment behind a fact"


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("Run `make db-up` and then `make migrate`.", "Run `make db-up` and then `make migrate`."),
        ("payments_webhook_retry | #12 @team a!", "payments_webhook_retry | #12 @team a!"),
        ("see https://handbook.example/pages?x=1&y=2.", "see <https://handbook.example/pages?x=1&y=2>."),
        ("2 * 3, a[0], ~5, costs $5, a < b", "2 * 3, a[0], ~5, costs $5, a < b"),
        ("C:\\new\\table", "C:\\new\\table"),
        ("# not a heading", "\\# not a heading"),
        ("1. not a list", "1\\. not a list"),
        ("[ ] not a box", "\\[ \\] not a box"),
        ("~~not struck~~", "\\~\\~not struck\\~\\~"),
        ("<b>", "\\<b>"),
        ("&amp;", "\\&amp;"),
        ("*all*", "\\*all\\*"),
        ("__init__", "\\_\\_init\\_\\_"),
        ("www.x.y", "www\\.x.y"),
        ("a\u202eb", "a⟨U+202E⟩b"),
    ],
)
def test_only_what_would_render_as_something_else_is_escaped(fact: str, line: str) -> None:
    assert escape(fact) == line
    assert unescape(line) == fact
