"""Recall and reflect. Both only read, but reflect costs model time: it is not repeated after a failure."""

from __future__ import annotations

import re
from typing import Any

from console.memory.errors import InvalidInput
from console.memory.hindsight.http import Http, Repeat
from console.memory.hindsight.ids import check_bank, shown
from console.memory.hindsight.paging import wants_tags
from console.memory.hindsight.urls import bank_path
from console.memory.hindsight.wire import WireRecall, WireReflect
from console.memory.models import RecallRequest, RecallResponse, ReflectRequest, ReflectResponse


def _check_query(query: str) -> None:
    if not re.search(r"\w", query):
        raise InvalidInput("the question holds no word", hint="write at least one word")


def recall_body(request: RecallRequest) -> dict[str, Any]:
    """The server includes entities unless told not to, so every include is stated."""
    _check_query(request.query)
    if request.tags and request.tag_groups:
        raise InvalidInput("tags and tag_groups exclude each other", hint="use one of them")
    body: dict[str, Any] = {
        "query": request.query,
        "budget": request.budget,
        "max_tokens": request.max_tokens,
        "trace": request.trace,
        "include": {
            "entities": _sized(max_tokens=request.entities_max_tokens) if request.include_entities else None,
            "chunks": _sized(max_tokens=request.chunks_max_tokens) if request.include_chunks else None,
            "source_facts": _sized(
                max_tokens=request.source_facts_max_tokens,
                max_tokens_per_observation=request.source_facts_max_tokens_per_observation,
            )
            if request.include_source_facts
            else None,
        },
    }
    if request.types:
        body["types"] = list(request.types)
    if wants_tags(request.tags, request.tags_match):
        body |= {"tags": list(request.tags), "tags_match": request.tags_match}
    if request.tag_groups:
        body["tag_groups"] = list(request.tag_groups)
    for name in ("query_timestamp", "prefer_observations"):
        if (value := getattr(request, name)) is not None:
            body[name] = value
    for name in ("min_scores", "temporal_window"):
        if (value := getattr(request, name)) is not None:
            body[name] = dict(value)
    return body


def _sized(**sizes: int | None) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if size is not None}


async def recall(http: Http, bank_id: str, request: RecallRequest) -> RecallResponse:
    check_bank(bank_id)
    answer = await http.call(
        "POST",
        bank_path(bank_id, "memories", "recall"),
        body=recall_body(request),
        repeat=Repeat.ALWAYS,
        missing=f"bank {shown(bank_id)}",
        timeout=http.timeouts.recall,
    )
    return answer.decode(WireRecall).model()


def reflect_options(request: ReflectRequest) -> dict[str, Any]:
    """What is only sent where it is asked for: an older server need not know it."""
    if request.tags and request.tag_groups:
        raise InvalidInput("tags and tag_groups exclude each other", hint="use one of them")
    body: dict[str, Any] = {}
    if request.tag_groups:
        body["tag_groups"] = list(request.tag_groups)
    for name in ("apply_all_directives", "exclude_mental_models"):
        if getattr(request, name):
            body[name] = True
    if request.exclude_mental_model_ids:
        body["exclude_mental_model_ids"] = list(request.exclude_mental_model_ids)
    if request.observations_max_tokens is not None:
        body["reflect_search_observations_max_tokens"] = request.observations_max_tokens
    if request.observations_include_entities is not None:
        body["reflect_search_observations_include_entities"] = request.observations_include_entities
    return body


async def reflect(http: Http, bank_id: str, request: ReflectRequest) -> ReflectResponse:
    check_bank(bank_id)
    _check_query(request.query)
    include: dict[str, Any] = {
        "facts": {} if request.include_facts else None,
        "tool_calls": {"output": request.tool_call_outputs} if request.include_tool_calls else None,
    }
    body: dict[str, Any] = {
        "query": request.query,
        "budget": request.budget,
        "max_tokens": request.max_tokens,
        "include": include,
    }
    if wants_tags(request.tags, request.tags_match):
        body |= {"tags": list(request.tags), "tags_match": request.tags_match}
    if request.fact_types:
        body["fact_types"] = list(request.fact_types)
    if request.response_schema is not None:
        body["response_schema"] = dict(request.response_schema)
    body |= reflect_options(request)
    answer = await http.call(
        "POST",
        bank_path(bank_id, "reflect"),
        body=body,
        repeat=Repeat.REFUSED,
        missing=f"bank {shown(bank_id)}",
        timeout=http.timeouts.reflect,
    )
    return answer.decode(WireReflect).model()
