"""JSON columns."""

from __future__ import annotations

from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="sorted")
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_STRINGS = msgspec.json.Decoder(tuple[str, ...])


def to_json(value: object) -> str:
    return _ENCODER.encode(value).decode()


def from_json(text: str | None) -> Any:
    return None if text is None else _DECODER.decode(text)


def strings(text: str) -> tuple[str, ...]:
    """A JSON list of strings."""
    return () if text == "[]" else _STRINGS.decode(text)
