"""Memory banks: the models, the ``MemoryStore`` protocol, and the stores that implement it."""
