"""The embedded store: banks in one SQLite file, with no server, no model and no network."""

from console.memory.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
