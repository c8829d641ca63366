"""Fetches from the public site: checks that the sitemap is live, and gets the IndexNow key file."""

import gzip
import zlib
from contextlib import suppress
from functools import partial
from typing import Final, Self

from crawler.config.config import Config
from crawler.config.fetcher import build_fetcher
from crawler.config.plan import CrawlPlan
from crawler.fetch.fetcher import Fetcher
from crawler.fetch.limits import BodyLimits
from crawler.fetch.paced_fetcher import follow
from crawler.fetch.redirect import REDIRECTS, redirect_target
from crawler.fetch.retry import TRANSIENT
from crawler.model import Failure, Reply, Url
from crawler.notify.notice import SendResult, SendStatus
from crawler.state.runs import PublishedFile
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams

_MAX_REDIRECTS: Final = 5
_SMALL_BODY: Final = BodyLimits(wire=65_536, decoded=65_536)
_KEEP_ALL_PARAMS: Final = UrlParams((), ())
_AFTER_DEPLOY: Final = "; siteatlas notify sends the changes after the deploy"
_REMEDY: Final = "; notifications wait until the site serves it"
_NOW: Final = " (check_live = false in [notify] sends them now)"
_WRONG_DIRECTORY: Final = ". If no later step copies it there, output.directory (-o) is not what the site serves"
_GZIP: Final = b"\x1f\x8b"


NOT_SERVED: Final = "the site does not serve the sitemap that this run wrote"
"""Begins each fault."""


class LiveResult(SendResult, frozen=True, kw_only=True):
    """Whether the site serves a published file. ``fault`` says that it serves something else, with a remedy, or is "".

    It is "" also for a copy in a cache, and for trouble that may pass.
    """

    fault: str = ""


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

    async def check_live(self, file: PublishedFile) -> LiveResult:
        """Whether the site serves the first file that a run published, compressed or not.

        The first of several files is the index, which dates the others: it is enough. If the site serves something
        else, the file is fetched again with a query that no cache knows. A server may refuse that query, or be busy by
        then: such an answer shows nothing, so it is no fault.
        """
        path = self._plan.output / file.name
        try:
            content, written = path.read_bytes(), path.stat().st_mtime
        except OSError as error:
            return LiveResult.deferred(f"{file.name}, which was published, cannot be read: {error.strerror}")
        limit = max(len(content), self._plan.config.fetch.max_sitemap) + 1
        fetch = partial(self._fetcher.fetch, body=BodyLimits(wire=limit, decoded=limit, refuse=2 * limit))
        reply = await follow(fetch, Url(file.url), _MAX_REDIRECTS, _KEEP_ALL_PARAMS)
        if isinstance(reply, Failure):
            return LiveResult.deferred(f"the sitemap at {file.url} cannot be fetched: {reply.message}{_REMEDY}{_NOW}")
        if reply.status == 200 and reply.body in _forms(content):
            return LiveResult.accepted(f"{file.url} is live")
        what, said = "serves something else", "is not yet the published version"
        if reply.status != 200:
            what = _redirected(reply) if reply.status in REDIRECTS else f"returns {reply.status}"
            said = f"cannot be fetched: it {what}"
        fault = (  # the same beginning for each of them: one cause of an alert
            f"{NOT_SERVED}. {file.url} {what}, and the sitemap is in "
            f"{path.absolute()}. Set output.directory (-o) to the directory that the site serves there. If a later "
            "step copies the file, all is well (check_live = false in [notify] ends this check)"
        )
        age = reply.header("age") or ""  # RFC 9111 5.1
        is_old = age.isdecimal() and float(age) > reply.fetched_at - written
        if is_old or reply.status in TRANSIENT:
            fault = ""
        else:
            past_caches = Url(f"{file.url}{'&' if '?' in file.url else '?'}{reply.fetched_at:.0f}")
            uncached = await follow(fetch, past_caches, _MAX_REDIRECTS, _KEEP_ALL_PARAMS)
            if isinstance(uncached, Failure) or uncached.status not in {200, reply.status}:
                fault = ""  # it was not seen
            else:
                fault = "" if uncached.body in _forms(content) else fault
        remedy = _AFTER_DEPLOY if self._plan.source else f"{_REMEDY}{_WRONG_DIRECTORY if fault else _NOW}"
        message = f"the sitemap at {file.url} {said}{remedy}"
        return LiveResult(reception=SendStatus.DEFERRED, message=message, fault=fault)


def _forms(content: bytes) -> tuple[bytes, ...]:
    """The bodies of a file: a server may send a gzip file as it is, or as a content coding."""
    if content.startswith(_GZIP):
        with suppress(OSError, EOFError, zlib.error):  # somebody may have replaced it
            return content, gzip.decompress(content)
    return (content,)


def _redirected(reply: Reply) -> str:
    """Why there is nothing at the end of the redirects."""
    target = redirect_target(reply, _KEEP_ALL_PARAMS)
    is_nowhere = isinstance(target, InvalidUrl)
    return f"redirects {f'to an invalid URL: {target}' if is_nowhere else f'more than {_MAX_REDIRECTS} times'}"


def _public_config(plan: CrawlPlan, is_faulty: bool) -> Config:
    """The configuration without what only the source may get, or without all secrets."""
    if plan.source is None and not is_faulty:
        return plan.config
    empty: dict[str, object] = {"headers": {}, "cookies": {}, "basic_auth": ""}
    if is_faulty:
        empty |= {"signing_key": "", "signature_agent": ""}
    return plan.config.model_copy(update={"fetch": plan.config.fetch.model_copy(update=empty)})
