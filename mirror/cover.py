"""Secrets are taken out of what the mirror writes before a blob of it exists.

A secret is replaced by ``[withheld: <rule>]`` in page, text, manifest, index and report; a document whose id holds
one is known in the wiki as ``withheld--<h16>``. Keys and hashes of whole texts stay those of the bank, so that marks
and records go on working. What a person allowed, by fingerprint, is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

from mirror.keys import fold
from mirror.manifest import Entry, Header
from mirror.model import PageSource, Record, RenderedPage
from mirror.paths import document_hash, withheld_hash
from mirror.secrets import (
    ALLOW,
    PLACES,
    Secret,
    find,
    fingerprint,
    names_a_secret,
    plausible,
    suspicious,
)
from mirror.source import SourceBank

T = TypeVar("T")
_PIECE = 16
"""Characters of a line of a key block that are hidden where they stand alone, as a sentence or chunk of their own."""


def _same(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Covered:
    """One document with its secrets taken out of all but its facts, which ``hide`` takes out when they are shown."""

    source: PageSource
    hide: Callable[[str], str] = _same
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint -> rule."""
    allowed: Mapping[str, str] = field(default_factory=dict)
    hidden_text: bool = False
    """The retained text holds one: its file does not give the text back."""


class Cover:
    """What one run knows of secrets in one bank."""

    def __init__(self, bank: SourceBank | None = None, header: Header | None = None) -> None:
        bank_id = bank.bank_id if bank else header.bank_id if header else ""
        created = bank.created_at if bank else header.created_at if header else ""
        self.bank_id = bank_id
        self._salt = f"{bank_id}\0{created}"
        self.settled: Mapping[str, str] = header.secrets if header else {}
        self.ids: dict[str, Mapping[str, str]] = {}
        """Alias of a document -> fingerprint -> rule, of the secrets in its id."""
        self._known: dict[str, str] = {}
        self._plain: set[str] = set()
        """Ids that were looked at and hold nothing: every fact names its document again."""

    def alias(self, document_id: str) -> str:
        """The id that the wiki knows a document by."""
        if document_id in self._plain:
            return document_id
        taken = withheld_hash(document_id) is not None
        if not taken and not suspicious(document_id):
            self._plain.add(document_id)
            return document_id
        found, _ = self._judge(find(document_id))
        if not found and not taken:
            return document_id
        alias = f"withheld--{document_hash(self.bank_id, document_id)[:16]}"
        self.ids[alias] = {mark: secret.rule for mark, secret in found.items()}
        self._remember(found.values())
        return alias

    def document(self, source: PageSource) -> Covered:
        """Look at everything that a document brings."""
        parts = _parts(source)
        own = self.ids.get(source.document_id, {})
        named = list(_named(source))
        if not named and not suspicious("\n".join(parts)):
            return Covered(source, withheld=own) if own else Covered(source)
        found, allowed = self._judge([*(secret for part in parts for secret in find(part)), *named])
        if not found:
            return Covered(source, withheld=own, allowed=allowed)
        self._remember(found.values())
        hide = _hider(found.values())
        text = None if source.text is None else hide(source.text)
        covered = replace(
            source,
            text=text,
            tags=tuple(hide(tag) for tag in source.tags),
            context=None if source.context is None else hide(source.context),
            metadata=_deep(source.metadata, hide),
            params=_deep(source.params, hide),
            records=tuple(_record(record, hide) for record in source.records),
            label=None if source.label is None else hide(source.label),
            retraction=None if source.retraction is None else _record(source.retraction, hide),
        )
        withheld = {**own, **{mark: secret.rule for mark, secret in found.items()}}
        return Covered(covered, hide, withheld, allowed, text != source.text)

    def page(self, rendered: RenderedPage) -> tuple[RenderedPage, Mapping[str, str]]:
        """The last look, at the page as it would be written: what only the whole makes a secret is found here."""
        text = rendered.page.decode("utf-8")
        if not suspicious(text):
            return rendered, {}
        found, _ = self._judge(find(text))
        if not found:
            return rendered, {}
        self._remember(found.values())
        hide = _hider(found.values())
        return replace(rendered, page=hide(text).encode("utf-8"), title=hide(rendered.title)), {
            mark: secret.rule for mark, secret in found.items()
        }

    def entry(self, entry: Entry) -> Entry:
        """A manifest line as it may be written."""
        # Not its id: that was judged on its own. A word that is a password in a text may stand in any id, and a line
        # under another id is a line of no document (seen on real texts).
        changed = replace(self.value(replace(entry, withheld={}, allowed={})), document_id=entry.document_id)
        return (
            entry
            if changed == replace(entry, withheld={}, allowed={})
            else replace(changed, withheld=entry.withheld, allowed=entry.allowed)
        )

    def value(self, value: T) -> T:
        """Any value without secrets: what this run met, and what its own strings hold."""
        found: list[Secret] = [Secret(rule, text) for text, rule in self._known.items()]
        for part in _strings(value):
            if suspicious(part):
                hidden, _ = self._judge(find(part))
                found += hidden.values()
        return _deep(value, _hider(found)) if found else value

    def _remember(self, secrets: Any) -> None:
        self._known.update({secret.value: secret.rule for secret in secrets})

    def _judge(self, secrets: Any) -> tuple[dict[str, Secret], dict[str, str]]:
        found: dict[str, Secret] = {}
        allowed: dict[str, str] = {}
        for secret in secrets:
            mark = fingerprint(self._salt, secret)
            if self.settled.get(mark) == ALLOW:
                allowed[mark] = secret.rule
            else:
                found[mark] = secret
        return found, allowed


def _hider(secrets: Any) -> Callable[[str], str]:
    """Replaces every value, the longest first, and the lines of those that have several."""
    replacements: dict[str, str] = {}
    for secret in secrets:
        sign = f"[withheld: {secret.rule}]"
        replacements[secret.value] = sign
        if "\n" in secret.value:
            replacements[fold(secret.value)] = sign
            lines = (line.strip() for line in secret.value.splitlines())
            replacements |= {line: sign for line in lines if len(line) >= _PIECE and "-----" not in line}
    ordered = sorted(replacements.items(), key=lambda item: (-len(item[0]), item[0]))

    def hide(text: str) -> str:
        for value, sign in ordered:
            if value in text:
                text = text.replace(value, sign)
        return text

    return hide


def _parts(source: PageSource) -> list[str]:
    """Every text that a page is made of. Written out: this runs for each page (walking the fields took a third of rendering)."""
    parts = [source.text or "", source.context or "", source.label or "", *source.tags]
    for fact in source.facts:
        parts.append(fact.text)
        if fact.reason:
            parts.append(fact.reason)
    records = source.records if source.retraction is None else (*source.records, source.retraction)
    for record in records:
        parts += [record.text, record.reason, record.by, record.pr]
    return [*parts, *_strings(source.metadata), *_strings(source.params)]


def _named(source: PageSource) -> Iterator[Secret]:
    """Metadata whose key says that its value is a secret."""
    for key, value in source.metadata.items():
        one_word = len(value) >= 6 and not any(c.isspace() for c in value)
        if one_word and names_a_secret(key) and plausible(value, key) and not list(find(value)):
            yield Secret(PLACES[1].id, value)


def _record(record: Record, hide: Callable[[str], str]) -> Record:
    return replace(
        record, text=hide(record.text), reason=hide(record.reason), by=hide(record.by), pr=hide(record.pr)
    )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(key)
            yield from _strings(item)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for item in value:
            yield from _strings(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _strings(getattr(value, one.name))


def _deep(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {_deep(key, hide): _deep(item, hide) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_deep(item, hide) for item in value)
    if isinstance(value, list):
        return [_deep(item, hide) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _deep(getattr(value, one.name), hide) for one in fields(value)})
    return value
