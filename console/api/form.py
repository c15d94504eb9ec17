"""Multipart bodies. Pure but for the boundary."""

from __future__ import annotations

import secrets


def form(fields: dict[str, str], files: list[tuple[str, str, bytes]]) -> tuple[str, bytes]:
    """A multipart body: text fields, then (field, file name, bytes). A file's name goes without its folder."""
    boundary = secrets.token_hex(16)
    parts = [
        _part(boundary, name, None, value.encode("utf-8", "surrogateescape"))
        for name, value in fields.items()
    ]
    parts += [_part(boundary, name, filename, data) for name, filename, data in files]
    return f"multipart/form-data; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode()


def _part(boundary: str, name: str, filename: str | None, data: bytes) -> bytes:
    quoted = [
        text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A") for text in (name, filename or "")
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted[0]}"'
    if filename is not None:
        head += f'; filename="{quoted[1]}"\r\nContent-Type: application/octet-stream'
    return head.encode("utf-8", "surrogateescape") + b"\r\n\r\n" + data + b"\r\n"
