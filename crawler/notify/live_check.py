"""Fetches from the public site: checks that the sitemap is live, and gets the IndexNow key file."""

import gzip
from functools import partial
from typing import Final, Self

from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.paced_fetcher import follow
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.model import Failure, Reply, Url
from crawler.notify.notice import SendResult
from crawler.state.runs import Run
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams

_MAX_REDIRECTS: Final = 5
_SMALL_BODY: Final = BodyLimits(wire=65_536, decoded=65_536)
_KEEP_ALL_PARAMS: Final = UrlParams((), ())
_REMEDY: Final = "; notifications wait until it is (check_live = false in [notify] sends them now)"
_GZIP: Final = b"\x1f\x8b"


class LiveSite:
    """Fetches from the site of a plan itself, never from a source that replaces it, while it is entered.

    With a source configured, passwords, headers and cookies are for that source, and are not sent; nor are they if one
    of them may have a fault (``is_faulty``). Raises UsageError for invalid options.
    """

    def __init__(self, plan: CrawlPlan, *, is_faulty: bool = False) -> None:
        self._plan = plan
        key_url = plan.config.indexnow.key_url
        origins = [origin_of(plan.seed), origin_of(plan.sitemap_url)]
        if key_url:
            origins.append(origin_of(normalize_url(key_url)))
        self._fetcher: Fetcher = build_fetcher(_public_config(plan, is_faulty), origins)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._fetcher.aclose()

    async def fetch(self, url: Url) -> Reply | Failure:
        """Fetch a small document once, without following redirects."""
        return await self._fetcher.fetch(url, body=_SMALL_BODY)

    async def check_live(self, run: Run) -> SendResult:
        """Whether the site serves the first file that a run published, compressed or not.

        The first of several files is the index, which dates the others: it is enough.
        """
        file = run.files[0]
        try:
            content = (self._plan.output / file.name).read_bytes()
        except OSError as error:
            return SendResult.deferred(
                f"{file.name}, which run {run.number} published, cannot be read: {error.strerror}"
            )
        limit = max(len(content), self._plan.config.fetch.max_sitemap) + 1
        reply = await self._follow_redirects(Url(file.url), BodyLimits(wire=limit, decoded=limit, refuse=2 * limit))
        if isinstance(reply, str):
            return SendResult.deferred(f"the sitemap at {file.url} cannot be fetched: {reply}{_REMEDY}")
        # a server may send a gzip file as it is, or as a content coding
        forms = (content, gzip.decompress(content)) if content.startswith(_GZIP) else (content,)
        if reply.body not in forms:
            return SendResult.deferred(f"the sitemap at {file.url} is not yet the published version{_REMEDY}")
        return SendResult.accepted(f"{file.url} is live")

    async def _follow_redirects(self, url: Url, body: BodyLimits) -> Reply | str:
        """The document at the end of the redirects, or the reason why there is none."""
        reply = await follow(partial(self._fetcher.fetch, body=body), url, _MAX_REDIRECTS, _KEEP_ALL_PARAMS)
        if isinstance(reply, Failure):
            return reply.message
        if reply.status not in REDIRECTS:
            return reply if reply.status == 200 else f"it answered {reply.status}"
        target = redirect_target(reply, _KEEP_ALL_PARAMS)
        is_nowhere = isinstance(target, InvalidUrl)
        return f"it redirects {f'to an invalid URL: {target}' if is_nowhere else f'more than {_MAX_REDIRECTS} times'}"


def _public_config(plan: CrawlPlan, is_faulty: bool) -> Config:
    """The configuration without what only the source may get, or without all secrets."""
    if plan.source is None and not is_faulty:
        return plan.config
    empty: dict[str, object] = {"headers": {}, "cookies": {}, "basic_auth": ""}
    if is_faulty:
        empty |= {"signing_key": "", "signature_agent": ""}
    return plan.config.model_copy(update={"fetch": plan.config.fetch.model_copy(update=empty)})
