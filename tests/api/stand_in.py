"""A server's place taken by its own description: answers each operation with the smallest body its schema allows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from console.api.spec import find
from tests.api.described import document, operations

UUID = "00000000-0000-4000-8000-000000000001"
IDS = {"bank_id": "b", "document_id": "doc", "id": UUID, "operation_id": UUID}


def smallest(schema: Any, ids: dict[str, str], depth: int = 0, version: str = "1.1.0") -> Any:
    """A value that the schema allows; ids are those of the test."""
    components = document(version)["components"]["schemas"]
    if not isinstance(schema, dict) or depth > 12:
        return None
    if "$ref" in schema:
        return smallest(components[schema["$ref"].rsplit("/", 1)[1]], ids, depth + 1, version)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            kinds = schema[several]
            return None if {"type": "null"} in kinds else smallest(kinds[0], ids, depth + 1, version)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            needed = schema.get("required", ())
            return {
                name: ids[name]
                if name in ids and part.get("type") == "string"
                else smallest(part, ids, depth + 1, version)
                for name, part in schema.get("properties", {}).items()
                if name in needed or name in ids
            }
        case "array":
            return []
        case "string":
            return "text"
        case "integer" | "number":
            return 0
        case "boolean":
            return True
    return {}


class StandIn(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, version: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.version = version
        self.seen: list[str] = []
        """Operation ids, in order."""
        self.requests: list[tuple[str, str, bytes]] = []
        """Method, target, body."""
        self.banks = ["b"]
        self.ignored: set[str] = set()
        """Query parameters that this server does not know."""


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def _answer(self) -> None:
        split = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.requests.append((self.command, self.path, body))
        if split.path == "/openapi.json":
            self._send(200, document(self.server.version))
            return
        offered = operations(self.server.version) if self.server.version else ()
        operation = find(offered, self.command, split.path)
        if operation is None:
            self._send(404, {"detail": "Not Found"})
            return
        self.server.seen.append(operation.operation_id)
        if operation.operation_id == "metrics_endpoint_metrics_get":
            self._send(200, "a_metric 1\n", kind="text/plain; version=0.0.4")
            return
        if operation.operation_id in {"download_file", "get_bank_attachment"}:
            self._send(200, "bytes", kind="application/octet-stream")
            return
        names = [part.split("=")[0] for part in split.query.split("&") if part]
        ignored = [name for name in names if name not in {p.name for p in operation.of("query")}]
        ignored += [name for name in names if name in self.server.ignored]
        self._send(200, self._body(operation.operation_id, split.path, operation.path), ignored)

    def _body(self, operation_id: str, path: str, template: str) -> Any:
        pieces, parts = path.split("/"), template.split("/")
        values = {p[1:-1]: unquote(v) for v, p in zip(pieces, parts, strict=False) if p.startswith("{")}
        ids = IDS | values
        ids["id"] = next((v for n, v in values.items() if n != "bank_id"), UUID)
        if operation_id == "list_banks":
            rows = [
                {"bank_id": bank, "created_at": "2026-01-01T00:00:00+00:00"} for bank in self.server.banks
            ]
            return {"banks": rows, "total": len(rows), "limit": 100, "offset": 0}
        if operation_id == "create_or_update_bank":
            self.server.banks.append(values["bank_id"])
        if operation_id == "get_version":
            return {"api_version": self.server.version, "features": {}}
        if operation_id == "health_endpoint_health_get":
            return {"status": "healthy"}
        method = self.command.lower()
        responses = document(self.server.version)["paths"][template][method]["responses"]
        content = next(iter(responses.values()))["content"]
        found = smallest(next(iter(content.values())).get("schema"), ids, version=self.server.version)
        if operation_id in {"get_memory", "update_memory"}:
            return {"id": values["memory_id"], "text": "A fact."}
        if isinstance(found, dict) and operation_id == "get_operation_status":
            found |= {
                "operation_id": values["operation_id"],
                "id": values["operation_id"],
                "status": "completed",
            }
        return found

    def _send(
        self, status: int, body: Any, ignored: list[str] | None = None, kind: str = "application/json"
    ) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        if ignored:
            self.send_header("x-ignored-params", ", ".join(ignored))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def stand_in(version: str = "1.1.0") -> Iterator[StandIn]:
    server = StandIn(version)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
