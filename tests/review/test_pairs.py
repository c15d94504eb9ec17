"""The labelled pairs themselves: as many, as mixed and as reproducible as they are said to be."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.review.pairs import LABELS, load


def test_the_set_is_large_mixed_and_split_in_two():
    rows = load()
    assert len(rows) >= 320
    assert len({row.id for row in rows}) == len(rows)
    assert {row.label for row in rows} == set(LABELS)
    made = Counter(row.id[0] for row in rows)
    assert abs(made["h"] - made["m"]) < 0.2 * len(rows)
    for half in ("dev", "heldout"):
        counts = Counter((row.label, row.lang) for row in load(half))
        assert all(counts[label, lang] >= 5 for label in LABELS for lang in ("en", "zh"))
    assert {"number", "date", "negation", "rename"} <= {row.kind for row in rows}


def test_no_sentence_stands_in_two_machine_made_halves():
    sides = [{text for row in load(half) if row.id[0] == "m" and row.kind != "far" for text in (row.a, row.b)} for half in ("dev", "heldout")]  # fmt: skip
    assert not sides[0] & sides[1]


def test_the_generator_writes_what_is_committed():
    script = Path(__file__).parent / "pairs" / "generate.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0
