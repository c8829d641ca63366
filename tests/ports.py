"""One port at several addresses, or for two protocols: the next port when another process holds it at one of them."""

import errno
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

Opened = TypeVar("Opened")
ATTEMPTS = 20


@contextmanager
def at_one_port(opened: Callable[[ExitStack], Opened]) -> Iterator[Opened]:
    """What ``opened`` enters into the stack given to it. It picks a port at its first address."""
    with ExitStack() as stack:
        for attempt in range(ATTEMPTS):
            try:
                value = opened(stack)
            except OSError as error:
                stack.close()
                if error.errno != errno.EADDRINUSE or attempt == ATTEMPTS - 1:
                    raise
            else:
                break
        yield value
