"""What every channel implements: a batch channel takes changed URLs in batches, a message channel takes messages."""

from collections.abc import Sequence
from typing import Protocol

from crawler.notify.notice import Notice, Occasion, SendResult


class MessageChannel(Protocol):
    """Takes one message for each notice. ``key`` names it in the ledger, never changes, and holds no secret."""

    @property
    def key(self) -> str:
        """Its name in the ledger."""

    @property
    def occasions(self) -> frozenset[Occasion]:
        """The occasions on which it wants a message."""

    async def send(self, notice: Notice) -> SendResult:
        """Send the message once. Never raises for a failing receiver."""


class BatchChannel(Protocol):
    """Takes the changed URLs in batches, each of one host and in a stable order."""

    @property
    def key(self) -> str:
        """Its name in the ledger."""

    @property
    def size(self) -> int:
        """The maximum number of URLs in a batch."""

    async def check_ready(self, host: str) -> SendResult:
        """Whether it accepts URLs of a host (IndexNow: the key file is there).

        Called before each batch, and again after a deferral: a host that is not ready is deferred alone.
        """

    def accepts(self, url: str) -> bool:
        """Whether a URL may be sent at all, decided without a request."""

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:
        """Send one batch once. Never raises for a failing receiver."""
