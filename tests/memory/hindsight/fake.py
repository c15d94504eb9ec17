"""A server's place taken by a function: what a store sends, and every way an answer can go wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from console.memory.hindsight import HindsightStore, Retries, Timeouts

URL = "http://memory.test:8888"
AT_ONCE = Retries(base=0.0, random=lambda: 0.0)
Answer = Callable[[httpx.Request], httpx.Response]


class Recorder(httpx.AsyncBaseTransport):
    """Answers by a function, or by a list of answers of which the last one repeats; remembers what was asked."""

    def __init__(self, *answers: Answer | httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
        return answer(request)

    @property
    def lines(self) -> list[str]:
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.requests]


def answer(body: Any, status: int = 200, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    kinds = {"content-type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return httpx.Response(status, headers=kinds, content=content)


def store(
    *answers: Answer | httpx.Response | Exception, url: str = URL, **options: Any
) -> tuple[HindsightStore, Recorder]:
    recorder = Recorder(*answers)
    options = {"retries": AT_ONCE, "timeouts": Timeouts()} | options
    opened = HindsightStore(url, transport=recorder, **options)
    opened._http._sleep = no_sleep
    return opened, recorder


async def no_sleep(_: float) -> None:
    """Waiting is tested by what would have been waited."""
