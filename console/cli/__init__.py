"""The commands. One module per command group; everything else is imported lazily."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``console``; what the process should exit with (design §4.3)."""
    from console.cli.program import run

    return run(argv)
