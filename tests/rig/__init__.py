"""The tests' own Hindsight server."""
