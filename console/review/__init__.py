"""Judgement over what changed in memory: doubles, contradictions, hidden instructions. Never imports Textual.

Every finding carries its evidence; what a judgement is worth was measured on pairs that it was not tuned on
(``tests/bench/review_quality.py``).
"""
