"""One port at several addresses, or for two protocols: the next port when another process holds it at one of them."""

import errno
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeVar

Opened = TypeVar("Opened")
ATTEMPTS = 20


@contextmanager
def at_one_port(opened: Callable[[ExitStack], Opened]) -> Iterator[Opened]:
    """What ``opened`` returns; it opens sockets or servers in the stack that it gets, all at one port.

    It picks the port at its first address, and is called again when another process holds that port at the next one.
    """
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


def reserved_port() -> int:
    """A free port for a server that starts later. It is below those that Linux gives to who asks for any port."""
    for _ in range(ATTEMPTS):
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(errno.EADDRINUSE, "no free port found between 20000 and 32000")
