"""What all who are told have in common. Two kinds: who takes the changed URLs in batches, and who takes a message."""

from collections.abc import Sequence
from typing import Protocol

from crawler.notify.notice import Notice, Occasion, SendResult


class MessageChannel(Protocol):
    """Takes one message for each notice. ``key`` names it in the ledger, stays the same, and has no secret in it."""

    @property
    def key(self) -> str:
        """Its name in the ledger."""

    @property
    def occasions(self) -> frozenset[Occasion]:
        """What it wants to be told."""

    async def send(self, notice: Notice) -> SendResult:
        """Send it, once. Never raises for what the other side does."""


class BatchChannel(Protocol):
    """Takes the URLs that changed, in batches, each of one host and in an order that stays the same."""

    @property
    def key(self) -> str:
        """Its name in the ledger."""

    @property
    def size(self) -> int:
        """URLs in one batch at most."""

    async def check_ready(self, host: str) -> SendResult:
        """Whether it can be told anything of a host (IndexNow: the key file is there).

        Asked before each batch, and again when one was put off: what is not ready then is put off for its host alone.
        """

    def accepts(self, url: str) -> bool:
        """Whether a URL may be sent at all, decided without asking."""

    async def send(self, host: str, urls: Sequence[str]) -> SendResult:
        """Send one batch, once. Never raises for what the other side does."""
