"""What the judgement of pairs is worth: precision and recall, by default on the half that it was not tuned on.

    python -m tests.bench.review_quality [--split dev|heldout]

A paraphrase found as a duplicate is right but not asked for, so it counts neither way there; in "with paraphrases" it
is asked for too. Beside it, what the package ``devin-memory`` finds, where it is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from console.review.pairs import judge
from tests.review.pairs import Pair, load

Finder = Callable[[str, str], str]
AIMS = {"duplicate": (0.9, 0.7), "contradiction": (0.8, 0.5)}


def ours(one: str, other: str) -> str:
    return judge(one, other).verdict.value


def devin() -> Finder | None:
    try:
        from devin_memory.conflict import is_conflict  # type: ignore[import-not-found]
    except ImportError:
        return None
    return lambda one, other: "contradiction" if is_conflict(one, other) else "other"


def measure(find: Finder, rows: list[Pair], verdict: str, wanted: set[str], ignored: set[str]) -> tuple[float | None, float, int]:  # fmt: skip
    """(precision, None where nothing was found; recall; how many were wanted)."""
    judged = [(row.label, find(row.a, row.b)) for row in rows if row.label not in ignored]
    found = [label for label, said in judged if said == verdict]
    right = sum(label in wanted for label in found)
    total = sum(label in wanted for label, _ in judged)
    return (right / len(found) if found else None), right / total, total


ROWS = (
    ("duplicates", "duplicate", {"duplicate"}, {"paraphrase"}),
    ("  with paraphrases", "duplicate", {"duplicate", "paraphrase"}, set[str]()),
    ("contradictions", "contradiction", {"contradiction"}, set[str]()),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=["dev", "heldout"], default="heldout")
    rows = load(parser.parse_args().split)
    finders = {"memory-console": ours} | ({"devin-memory": other} if (other := devin()) else {})
    print(f"{'':<16} {'':<20} {'language':<9} {'wanted':>6} {'precision':>9} {'recall':>7}")
    for name, find in finders.items():
        for what, verdict, wanted, ignored in ROWS:
            for lang in ("all", "en", "zh"):
                some = [row for row in rows if lang in ("all", row.lang)]
                precision, recall, total = measure(find, some, verdict, wanted, ignored)
                shown = "   (none)" if precision is None else f"{precision:9.3f}"
                print(f"{name:<16} {what:<20} {lang:<9} {total:>6} {shown} {recall:>7.3f}")
    if len(finders) == 1:
        print("devin-memory is not installed here: pip install devin-memory")


if __name__ == "__main__":
    main()
