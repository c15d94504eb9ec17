"""Options and value types that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from console.memory.models import parse_time

F = TypeVar("F", bound=Callable[..., Any])

MATCHES = ("any", "all", "any_strict", "all_strict", "exact")
FACT_TYPES = ("world", "experience", "observation")


def moment_type(*words: str) -> Callable[[str], str]:
    """An option's type: ISO 8601, a day, or one of the words; given on as ISO 8601 in UTC."""

    def convert(value: str) -> str:
        text = value.strip()
        if text in words:
            return text
        try:
            found = parse_time(text)
        except (ValueError, OverflowError):
            found = None
        if found is None:
            allowed = "".join(f" or {word}" for word in words)
            raise click.BadParameter(
                f"{text!r} is no time; write 2026-12-01 or 2026-12-01T09:30:00Z{allowed}"
            )
        return found.isoformat().replace("+00:00", "Z")

    convert.__name__ = "time"
    return convert


def json_type(kind: type) -> Callable[[str], Any]:
    """An option's type: JSON of one kind, ``list`` or ``dict``."""

    def convert(value: str) -> Any:
        try:
            found = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise click.BadParameter(f"not JSON, {error}") from error
        if not isinstance(found, kind):
            raise click.BadParameter("not a JSON list" if kind is list else "not a JSON object")
        return found

    convert.__name__ = "json"
    return convert


def pairs(values: Iterable[str], option: str) -> dict[str, str]:
    """``K=V`` options as a mapping. Raises UsageError."""
    found: dict[str, str] = {}
    for item in values:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{option} {item!r} is not of the form KEY=VALUE")
        if key in found:
            raise click.UsageError(f"{option} gives {key!r} twice")
        found[key] = value
    return found


def numbers(values: Mapping[str, str], option: str, known: Iterable[str]) -> dict[str, float]:
    """The values as numbers, the keys among those known. Raises UsageError."""
    found: dict[str, float] = {}
    for key, value in values.items():
        if key not in known:
            raise click.UsageError(f"{option} knows {', '.join(known)}, not {key!r}")
        try:
            found[key] = float(value)
        except ValueError as error:
            raise click.UsageError(f"{option} {key}={value!r} is not a number") from error
    return found


def tag_options(default: str) -> Callable[[F], F]:
    """``--tag`` and ``--tags-match`` as a filter."""

    def decorate(function: F) -> F:
        function = click.option(
            "--tags-match",
            type=click.Choice(MATCHES),
            default=default,
            show_default=True,
            help="How tags match.",
        )(function)
        return click.option(
            "--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag; may be repeated."
        )(function)

    return decorate


def page_options(limit: int) -> Callable[[F], F]:
    """``--limit`` and ``--offset``."""

    def decorate(function: F) -> F:
        function = click.option("--offset", type=click.IntRange(0), default=0, help="Skip so many.")(function)
        return click.option(
            "--limit", type=click.IntRange(0), default=limit, show_default=True, help="At most so many."
        )(function)

    return decorate
