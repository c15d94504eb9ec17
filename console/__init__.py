"""memory-console: a terminal console for agent memory banks."""

__version__ = "0.1.0"
