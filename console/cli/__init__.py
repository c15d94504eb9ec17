"""The commands. One module per command group; everything else is imported lazily."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``console``; what the process should exit with : 0, 1, 2, 3, 4, 5, 6, 64 or 130."""
    import sys

    words = sys.argv[1:] if argv is None else argv
    try:
        if words and words[0] == "hook":  # before anything is loaded: it runs with every prompt
            from console.hook import main as hook

            return hook(words[1:])
        from console.cli.program import run

        return run(argv)
    except KeyboardInterrupt:  # while modules still load, or a second one while the first is reported
        return 130
