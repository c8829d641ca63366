"""The public site as everybody sees it: whether the sitemap is live, and what else is asked for there."""

import gzip
from functools import partial
from types import TracebackType
from typing import Final, Self

from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.paced_fetcher import follow
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.model import Failure, Reply, Url
from crawler.notify.notice import SendResult, SendStatus
from crawler.state.runs import Run
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams

_MAX_REDIRECTS: Final = 5
_MIN_PACKED_SIZE: Final = BodyLimits(wire=65_536, decoded=65_536)
_KEEP_ALL_PARAMS: Final = UrlParams((), ())
_REMEDY: Final = "; others are told when it is (--no-check-live does not wait for it)"
_GZIP: Final = b"\x1f\x8b"


class LiveSite:
    """Asks the site of a plan itself, never the source that its pages are read from, while it is entered.

    Passwords, headers and cookies are for a source when there is one, and stay there. Raises UsageError for options
    that cannot work.
    """

    def __init__(self, plan: CrawlPlan) -> None:
        self._plan = plan
        key_url = plan.config.indexnow.key_url
        homes = [origin_of(plan.seed), origin_of(plan.sitemap_url)]
        if key_url:
            homes.append(origin_of(normalize_url(key_url)))
        self._fetcher: Fetcher = build_fetcher(_public_config(plan), homes)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._fetcher.aclose()

    async def fetch(self, url: Url) -> Reply | Failure:
        """A small document, asked for once; no redirect is followed."""
        return await self._fetcher.fetch(url, body=_MIN_PACKED_SIZE)

    async def check_live(self, run: Run) -> SendResult:
        """Whether what the site answers with is the first file that a run published, be it packed or not.

        Of several files the first is the index, which dates the others: it is enough.
        """
        file = run.files[0]
        try:
            ours = (self._plan.output / file.name).read_bytes()
        except OSError as error:
            return _deferred(
                f"{file.name}, which run {run.number} published, cannot be read: {error.strerror}"
            )
        limit = max(len(ours), self._plan.config.fetch.max_sitemap) + 1
        reply = await self._follow_redirects(
            Url(file.url), BodyLimits(wire=limit, decoded=limit, refuse=2 * limit)
        )
        if isinstance(reply, str):
            return _deferred(f"the sitemap at {file.url} cannot be had: {reply}{_REMEDY}")
        if reply.body not in _encoded_forms(ours):
            return _deferred(f"the sitemap at {file.url} is not yet the one that was published{_REMEDY}")
        return SendResult(reception=SendStatus.ACCEPTED, message=f"{file.url} is live")

    async def _follow_redirects(self, url: Url, body: BodyLimits) -> Reply | str:
        """The document at the end of the redirects, or why there is none."""
        reply = await follow(partial(self._fetcher.fetch, body=body), url, _MAX_REDIRECTS, _KEEP_ALL_PARAMS)
        if isinstance(reply, Failure):
            return reply.message
        if reply.status not in REDIRECTS:
            return reply if reply.status == 200 else f"it answered {reply.status}"
        target = redirect_target(reply, _KEEP_ALL_PARAMS)
        is_nowhere = isinstance(target, InvalidUrl)
        return f"it redirects {f'nowhere: {target}' if is_nowhere else f'more than {_MAX_REDIRECTS} times'}"


def _public_config(plan: CrawlPlan) -> Config:
    """What the public site may be told."""
    if plan.source is None:
        return plan.config
    nothing = {"headers": {}, "cookies": {}, "basic_auth": ""}
    return plan.config.model_copy(update={"fetch": plan.config.fetch.model_copy(update=nothing)})


def _encoded_forms(content: bytes) -> tuple[bytes, ...]:
    """A file as it may arrive: a server may send one that is packed as such, or say that it is a content coding."""
    return (content, gzip.decompress(content)) if content.startswith(_GZIP) else (content,)


def _deferred(said: str) -> SendResult:
    return SendResult(reception=SendStatus.DEFERRED, message=said)
