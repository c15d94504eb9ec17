"""What servers say of themselves: the OpenAPI of 1.1.0 and 0.9.1 without its prose, as test data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from console.api.spec import Operation, read_operations

HERE = Path(__file__).parent
VERSIONS = ("1.1.0", "0.9.1")


@cache
def document(version: str = "1.1.0") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / f"openapi-{version}.json").read_text("utf-8"))
    return found


@cache
def operations(version: str = "1.1.0") -> tuple[Operation, ...]:
    return read_operations(document(version))
