"""Every operation of 1.1 is reached by a command, and the command really sends it."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from console.api.spec import read_operations
from tests.api.coverage import BY_API, FIRST_CLASS, RETIRED
from tests.api.described import operations
from tests.api.stand_in import UUID, StandIn
from tests.cli.conftest import Console

WORDS = {"bank": "b", "document": "doc", "chunk": "b_doc_0", "target": "copy", "key": "banks/b/exports/x.zip"}


def test_the_table_is_the_server() -> None:
    tables = [set(FIRST_CLASS), set(BY_API), set(RETIRED)]
    offered = {o.operation_id for o in operations()}
    assert set.union(*tables) == offered
    assert sum(map(len, tables)) == len(offered) == 101


def test_what_is_retired_is_so_by_the_servers_own_word() -> None:
    assert {o.operation_id for o in operations() if o.retired} == set(RETIRED)


def argv(line: str, home: Path) -> list[str]:
    for name in ("file", "archive", "template", "strategies"):
        (home / name).write_text("{}")
    words = {**WORDS, **{name: str(home / name) for name in ("file", "archive", "template", "strategies")}}
    return [_filled(word, words) for word in line.split()]


def _filled(word: str, words: dict[str, str]) -> str:
    head, dollar, name = word.partition("$")
    return head + words.get(name, UUID) if dollar else word


@pytest.mark.parametrize("operation", sorted(FIRST_CLASS))
def test_a_command_sends_its_operation(console: Console, home: Path, server: StandIn, operation: str) -> None:
    line = ["--store", server.url, "--bank", "b", *argv(FIRST_CLASS[operation], home)]
    ran = console(*line)
    assert ran.code == 0, ran.err
    assert operation in server.seen
    ran = console(*line, "--json")
    assert ran.code == 0, ran.err
    assert ran.json is not None


@pytest.mark.parametrize("operation", sorted(BY_API | RETIRED))
def test_api_sends_the_rest(console: Console, home: Path, server: StandIn, operation: str) -> None:
    line = (BY_API | RETIRED)[operation]
    if "{entity_id}" in line:
        line += " --path entity_id=$entity"
    ran = console("--store", server.url, "--bank", "b", "api", *argv(line, home))
    assert ran.code == 0, ran.err
    assert server.seen == [operation]


@pytest.mark.server
def test_the_live_server_offers_exactly_this(hindsight_url: str) -> None:
    with urllib.request.urlopen(f"{hindsight_url}/openapi.json", timeout=30) as answer:
        live = read_operations(json.load(answer))
    known = {(o.method, o.path, o.operation_id) for o in operations()}
    assert {(o.method, o.path, o.operation_id) for o in live} == known
