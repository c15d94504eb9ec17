"""How a screen asks the store: a worker awaits, posts its answer, and a handler owns the state.

Promise: within one ``group`` only the answer of the last question is used; leaving the screen cancels
what is under way; every error becomes a line with a way to retry and never ends the app.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from textual.message import Message
from textual.worker import Worker

from console.memory.errors import StoreError

T = TypeVar("T")


async def guarded(answer: Awaitable[T]) -> T:
    """The answer, or a StoreError: a defect below is said like any other failure and does not end the app."""
    try:
        return await answer
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(
            f"something unexpected failed: {type(error).__name__}: {error}",
            hint="this is a defect of the console or its store, please report it",
        ) from error


@dataclass
class Answered(Message):
    """A question came back, with a value or an error."""

    group: str
    number: int
    value: Any
    error: StoreError | None


@dataclass(frozen=True)
class _Question:
    number: int
    request: Callable[[], Awaitable[Any]]
    done: Callable[[Any], None]


class Questions:
    """The questions of one screen, the newest of each group."""

    def __init__(
        self,
        start: Callable[..., Worker[None]],
        post: Callable[[Message], bool],
    ) -> None:
        self._start = start
        self._post = post
        self._open: dict[str, _Question] = {}
        self._workers: dict[str, Worker[None]] = {}
        self._failed: dict[str, _Question] = {}
        self._count = 0

    def ask(self, group: str, request: Callable[[], Awaitable[T]], done: Callable[[T], None]) -> None:
        """Ask; an older question of the same group is cancelled and its answer dropped."""
        self._count += 1
        question = _Question(self._count, request, done)
        self._failed.pop(group, None)
        if group in self._workers:
            self._workers.pop(group).cancel()
        self._open[group] = question
        self._workers[group] = self._start(partial(self._run, group, question), group=f"ask:{group}")

    async def _run(self, group: str, question: _Question) -> None:
        try:
            value = await guarded(question.request())
        except StoreError as error:
            self._post(Answered(group, question.number, None, error))
        else:
            self._post(Answered(group, question.number, value, None))

    def settle(self, answer: Answered) -> StoreError | None:
        """Use an answer if it is still wanted; the error to show, if it was one."""
        question = self._open.get(answer.group)
        if question is None or question.number != answer.number:
            return None
        del self._open[answer.group]
        self._workers.pop(answer.group, None)
        if answer.error is not None:
            self._failed[answer.group] = question
            return answer.error
        question.done(answer.value)
        return None

    def busy(self, group: str) -> bool:
        return group in self._open

    def retry(self) -> bool:
        """Ask again what failed; whether there was anything."""
        failed, self._failed = self._failed, {}
        for group, question in failed.items():
            self.ask(group, question.request, question.done)
        return bool(failed)

    def forget_failed(self) -> None:
        """The error was dismissed: a later refresh must not repeat what failed (it may have been a write)."""
        self._failed.clear()

    def cancel(self) -> None:
        """Drop everything: the screen is being left."""
        self._failed.clear()
        for worker in self._workers.values():
            worker.cancel()
        self._workers.clear()
        self._open.clear()
