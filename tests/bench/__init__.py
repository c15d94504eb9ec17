"""Benches: scripts that print numbers, and no part of the timed suite.

``python -m tests.bench.finding``  how often recall finds the evidence of a question, beside a plain FTS5 floor
``python -m tests.bench.speed``    retain, open and recall at 10,000 and 100,000 memories
"""
