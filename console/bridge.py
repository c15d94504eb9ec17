"""A MemoryStore seen as mirror.source."""
