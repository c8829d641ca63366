"""Asking again, later and later, when it may help; and several things at once, until one of them fails."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, TypeVar

import anyio

from crawler.errors import single_error
from crawler.fetch import retry_loop
from crawler.fetch.retry import RetryPolicy
from crawler.publish.upload.target import UploadError

T = TypeVar("T")

MAX_CONCURRENT: Final = 4  # files on their way


class UploadRetries:
    """How often things are tried again. ``sleep`` takes seconds."""

    def __init__(self, retries: int, sleep: retry_loop.Sleep) -> None:
        self._policy = RetryPolicy(retries, longest=60.0)
        self._sleep = sleep

    async def run(self, what: Callable[[], Awaitable[T]]) -> T:
        """Do one thing. Raises NotTaken as the last try did."""
        async for _ in retry_loop.Retries(self._policy, sleep=self._sleep):
            try:
                return await what()
            except UploadError as error:
                failed = error
                if not error.may_retry:
                    break
        raise failed

    async def run_all(self, items: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
        """Do something with each, a few at a time. Raises NotTaken for the first that fails; then no other is begun."""
        waiting = iter(items)

        async def work() -> None:
            for item in waiting:
                await self.run(partial(do, item))

        try:
            async with anyio.create_task_group() as group:
                for _ in range(MAX_CONCURRENT):
                    group.start_soon(work)
        except BaseExceptionGroup as group_error:
            raise _first_error(group_error) from None


def _first_error(group: BaseException) -> BaseException:
    """What went wrong first, when the same went wrong several times at once."""
    found = single_error(group)
    while isinstance(found, BaseExceptionGroup):
        refused, others = found.split(UploadError)
        if others is not None or refused is None:
            return found
        found = refused.exceptions[0]
    return found
