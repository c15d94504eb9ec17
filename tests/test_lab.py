"""Why a result stands where it does, from traces of both stores and from none."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console.lab import compare, explain
from console.memory.models import RecallResponse, RecallResult

TRACE = {
    "retrieval_results": [
        {"method_name": "semantic", "fact_type": "world", "duration_seconds": 0.01,
         "results": [{"rank": 1, "node_id": "b"}, {"rank": 2, "node_id": "a"}, {"rank": 3, "node_id": "z"}]},
        {"method_name": "bm25", "fact_type": "world", "duration_seconds": 0.002, "results": [{"rank": 1, "node_id": "a"}]},
    ],
    "rrf_merged": [{"node_id": "a", "final_rrf_rank": 1}, {"node_id": "b", "final_rrf_rank": 2}],
    "reranked": [{"node_id": "a", "rerank_rank": 1, "rerank_score": 0.9, "score_components": {"recency": 0.5, "x": 1}}],
    "summary": {"total_duration_seconds": 0.2, "phase_metrics": [{"phase_name": "p", "duration_seconds": 0.1}]},
}  # fmt: skip


def rows(*ids: str) -> tuple[RecallResult, ...]:
    return tuple(RecallResult(id=name, text=name) for name in ids)


def test_each_hit_says_how_it_got_there() -> None:
    found = explain(RecallResponse(results=rows("a", "b"), trace=TRACE))
    first, second = found.reasons
    assert first.arms == {"semantic": 2, "bm25": 1}
    assert (first.fused_rank, first.rerank_rank, first.rerank_score, first.components) == (
        1,
        1,
        0.9,
        {"recency": 0.5},
    )
    assert (second.arms, second.rerank_rank) == ({"semantic": 1}, None)
    assert [(arm.name, arm.found, arm.kept) for arm in found.arms] == [("semantic", 3, 2), ("bm25", 1, 1)]
    assert (found.phases, found.seconds) == ({"p": 0.1}, 0.2)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["node_id", "rank", "results", "phase_name"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*TRACE]), json_values))
def test_a_trace_of_any_shape_is_no_error(trace: dict[str, Any]) -> None:
    assert len(explain(RecallResponse(results=rows("a"), trace=trace)).reasons) == 1


def test_two_answers_are_compared_by_id() -> None:
    found = compare(rows("a", "b", "c"), rows("b", "a", "d"))
    assert [(m.id, m.before, m.after) for m in found.entered] == [("d", None, 3)]
    assert [(m.id, m.before, m.after) for m in found.left] == [("c", 3, None)]
    assert [(m.id, m.before, m.after) for m in found.moved] == [("b", 2, 1), ("a", 1, 2)]
    assert found.unmoved == 0


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("abcdef"), unique=True))
def test_nothing_is_counted_twice_or_lost(before: list[str], after: list[str]) -> None:
    found = compare(rows(*before), rows(*after))
    assert len(found.entered) + len(found.moved) + found.unmoved == len(after)
    assert len(found.left) + len(found.moved) + found.unmoved == len(before)
