"""Options and value types that several commands share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
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
            found = relative(text) or parse_time(text)
        except (ValueError, OverflowError):
            found = None
        if found is None:
            allowed = "".join(f" or {word}" for word in words)
            raise click.BadParameter(
                f"{text!r} is no time; write 2026-12-01, 2026-12-01T09:30:00Z, 2d (ago){allowed}"
            )
        return found.isoformat().replace("+00:00", "Z")

    convert.__name__ = "time"
    return convert


_AGO = re.compile(r"(\d{1,5})\s*(m|min|h|d|w)(?: ago)?")
_UNITS = {"m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def relative(text: str, now: datetime | None = None) -> datetime | None:
    """``90m``, ``12h``, ``2d``, ``3w`` before now, ``now``, ``today`` and ``yesterday`` (midnight, local time);
    None for anything else."""
    at = now or datetime.now(UTC)
    if found := _AGO.fullmatch(text.lower()):
        return at - timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    if text.lower() == "now":
        return at
    if text.lower() in {"today", "yesterday"}:
        midnight = at.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight - timedelta(days=text.lower() == "yesterday")).astimezone(UTC)
    return None


def check_span(start: str | None, end: str | None, names: tuple[str, str]) -> None:
    """Raises UsageError where a span ends before it starts: the server would answer nothing, or 400."""
    first, last = parse_time(start), parse_time(end)
    if first is not None and last is not None and first >= last:
        raise click.UsageError(f"{names[1]} is not after {names[0]}")


def check_tag_groups(groups: Sequence[Any], depth: int = 0) -> None:
    """Raises UsageError where a nested tag filter is not one, naming the part."""
    if depth > 30:
        raise click.UsageError("--tag-groups is nested too deeply")
    for node in groups:
        shown = json.dumps(node, ensure_ascii=False)[:80]
        if not isinstance(node, dict) or len({"tags", "and", "or", "not"} & set(node)) != 1:
            raise click.UsageError(f"--tag-groups: {shown} has to hold one of tags, and, or, not")
        if "tags" in node:
            tags = node["tags"]
            if not isinstance(tags, list) or not tags or not all(isinstance(tag, str) for tag in tags):
                raise click.UsageError(f"--tag-groups: the tags of {shown} have to be a list of texts")
            if node.get("match", "any_strict") not in MATCHES:
                raise click.UsageError(
                    f"--tag-groups: match is one of {', '.join(MATCHES)}, not {node['match']!r}"
                )
            if node.get("resolve", "exact") not in ("exact", "fuzzy"):
                raise click.UsageError(f"--tag-groups: resolve is exact or fuzzy, not {node['resolve']!r}")
        for name in ("and", "or"):
            if name in node:
                if not isinstance(node[name], list) or not node[name]:
                    raise click.UsageError(f"--tag-groups: {name!r} of {shown} has to be a list")
                check_tag_groups(node[name], depth + 1)
        if "not" in node:
            check_tag_groups([node["not"]], depth + 1)


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


def all_option(function: F) -> F:
    """``--all``: everything instead of a page, as ``every``."""
    return click.option("--all", "every", is_flag=True, help="All of them, instead of --limit.")(function)
