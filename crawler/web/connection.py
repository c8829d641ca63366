"""One client's connection, and how long it may keep us waiting: for its request, and for taking what it asked for."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_HEAD: Final = 16 * 2**10  # bytes of a request line and its headers
_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
    b"Content-Type: text/plain\r\nContent-Length: 26\r\n\r\ntoo many clients, for now\n"
)


@dataclass
class Clients:
    """All connections that are open: ``most`` of them, each waited for ``patience`` seconds at a time."""

    most: int
    patience: float
    there: "set[Client]" = field(default_factory=set)

    def connect(self, **given: Any) -> "Client":
        """The protocol of a new connection; uvicorn gives what it has to know."""
        return Client(self, **given)

    def has_room(self) -> bool:
        """Whether one more can be served, if need be in place of one that asks nothing."""
        if len(self.there) < self.most:
            return True
        idle = min((each for each in self.there if each.is_idle), key=lambda each: each.since, default=None)
        if idle is not None:
            idle.drop()
        return idle is not None

    def look(self, now: float) -> None:
        """Let those go who take too long. To be called several times in ``patience``; ``now`` is the loop's."""
        for client in list(self.there):
            client.look(now)

    def drop(self) -> None:
        """Let all go at once."""
        for client in list(self.there):
            client.drop()


class Client(H11Protocol):
    """HTTP/1.1 with deadlines. ``since`` is when it was last waited for something, by the loop's clock."""

    def __init__(self, clients: Clients, **given: Any) -> None:
        super().__init__(**given)
        self._clients = clients
        self._is_stuck = False  # it does not take what is sent
        self._is_leaving = False
        self.since = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether it had an answer and has asked for nothing since."""
        return (
            self._is_asking
            and self._cycle is not None
            and not self.transport.is_closing()
            and not self.conn.trailing_data[0]
        )

    @property
    def _is_asking(self) -> bool:
        """Whether its request is not there yet."""
        return self._cycle is None or self._cycle.response_complete

    @property
    def _cycle(self) -> RequestResponseCycle | None:
        """Its last request, and how far the answer is; None: it had none."""
        return cast("RequestResponseCycle | None", self.cycle)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it in, or tell it that there is no room."""
        has_room = self._clients.has_room()
        super().connection_made(transport)
        self._clients.there.add(self)
        self.since = self.loop.time()
        if not has_room:
            transport.write(_FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._clients.there.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """What it sends after the end is nobody's."""
        if self.transport.is_closing():
            return
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # it broke the rules while it was being answered
            self.drop()

    def send_400_response(self, msg: str) -> None:
        """Tell it that it sends no HTTP. What it asked before, and has no answer to yet, is not answered any more."""
        if not self._is_asking:
            self.cycle.disconnected = True
        super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """From now on its next request is waited for."""
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """It does not take what is sent as fast as that."""
        self._is_stuck, self.since = True, self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """It took most of it."""
        self._is_stuck = False
        super().resume_writing()

    def shutdown(self) -> None:
        """Let it take its answer, and no more."""
        try:
            super().shutdown()
        except h11.LocalProtocolError:
            self.drop()

    def look(self, now: float) -> None:
        """Let it go if it took too long."""
        if self.transport.is_closing() and not self._is_leaving:
            self._is_leaving, self.since = True, now
        if now - self.since < self._clients.patience:
            return
        if self._is_leaving or self._is_stuck:
            self.drop()
        elif self._is_asking:
            if self.conn.trailing_data[0]:
                self.transport.write(_LATE)
            self.transport.close()

    def drop(self) -> None:
        """Close it, whatever is left to be sent."""
        self.transport.abort()
