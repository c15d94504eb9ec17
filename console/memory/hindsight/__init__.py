"""A Hindsight server as a store, over HTTP."""

from console.memory.hindsight.http import RequestLog, Retries, Timeouts
from console.memory.hindsight.store import HindsightStore

__all__ = ["HindsightStore", "RequestLog", "Retries", "Timeouts"]
