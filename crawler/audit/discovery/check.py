"""Looks whether a published sitemap is declared, can be had and is the right one: asks the site for both files."""

import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from crawler.audit.discovery import robots_txt, sitemap_file
from crawler.audit.discovery.result import (
    CheckStatus,
    Declaration,
    DiscoveryCheck,
    check_failed,
    check_passed,
    check_unknown,
)
from crawler.config.config import Config
from crawler.config.plan import plan_scope
from crawler.crawl.download import DocumentNotFound, Downloader
from crawler.errors import UsageError
from crawler.model import Url
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams
from sitemap import SourceError, missing_lines, sitemaps_in

MAX_BYTES: Final = 52_428_800  # of the sitemap, as the protocol allows
MAX_NAMED: Final = 5  # of the sitemaps that robots.txt names, that are asked for to know which is meant
_KEEP_ALL_PARAMS: Final = UrlParams((), ())


def check_discovery(name: str, config: Config) -> Declaration:
    """Look at the sitemap of a site. Raises UsageError; whatever the site does is told in the answer.

    The public site is asked, also when it is crawled at another place; secrets that are for that stay here. Where
    nobody says which sitemap is meant, nor publishes one from here, it is the one that the site has.
    """
    seed, sitemap_url, _ = plan_scope(config)
    robots_url = f"{origin_of(sitemap_url)}/robots.txt"
    public = _public_config(config)
    with Downloader(
        public, list(dict.fromkeys((origin_of(sitemap_url), origin_of(seed)))), MAX_BYTES
    ) as remote:
        looker = _DiscoveryChecker(remote, sitemap_url, robots_url, published_file(config, sitemap_url))
        assumed = (
            () if config.site.sitemap_url or config.output.directory else tuple(looker.find_other_sitemap())
        )
        looks = (*assumed, *looker.checks())
    return Declaration(
        name=name, sitemap_url=looker.sitemap_url, robots_url=robots_url, checks=looks, missing=looker.missing
    )


def published_file(config: Config, sitemap_url: Url) -> Path | None:
    """The file that is published, if the configuration says where and it is there."""
    if not config.output.directory:
        return None
    file = Path(config.output.directory) / sitemap_url.partition("?")[0].rpartition("/")[2]
    return file if file.is_file() else None


def _public_config(config: Config) -> Config:
    """The configuration without another place to read the site from."""
    if not config.fetch.source:
        return config
    plain = {"source": "", "basic_auth": "", "headers": {}, "cookies": {}}
    return config.model_copy(update={"fetch": config.fetch.model_copy(update=plain)})


class _DiscoveryChecker:
    """Asks in the order in which it is told. ``missing`` is filled meanwhile."""

    def __init__(self, remote: Downloader, sitemap_url: Url, robots_url: str, file: Path | None) -> None:
        self.missing: dict[str, list[str]] = {}
        self.sitemap_url = sitemap_url
        self._downloader = remote
        self._reply = cache(remote.get)
        self._robots_url = robots_url
        self._file = file

    def find_other_sitemap(self) -> Iterator[DiscoveryCheck]:
        """Take another sitemap for the one that is meant: one that robots.txt names, or that a redirect leads to."""
        body = self._downloader.robots(self._robots_url) or b""
        if not missing_lines(body, [self.sitemap_url]):
            return
        end = self._end(self.sitemap_url)
        named = _named_sitemaps(body, origin_of(self.sitemap_url))
        for each in sorted(named, key=lambda url: url != end)[:MAX_NAMED]:
            if self._end(each):
                told = f"{each} is what robots.txt names, and so the one that is meant (--sitemap-url means another)"
                self.sitemap_url = each
                yield check_passed("sitemap.meant", told)
                return
        if end and end != self.sitemap_url:
            yield check_passed(
                "sitemap.meant", f"{self.sitemap_url} redirects to {end}, and so that is meant"
            )
            self.sitemap_url = end

    def _end(self, url: Url) -> Url | None:
        """Where a sitemap is at the end of its redirects, if there is one, on the same origin."""
        try:
            reply = self._reply(url)
        except SourceError:
            return None
        is_here = origin_of(reply.url) == origin_of(url) and sitemap_file.is_sitemap(reply.body, reply.url)
        return reply.url if is_here else None

    def checks(self) -> Iterator[DiscoveryCheck]:
        yield from self._robots()
        yield from self._sitemap()

    def _robots(self) -> Iterator[DiscoveryCheck]:
        try:
            reply = self._reply(self._robots_url)
        except DocumentNotFound as error:
            self._note_missing_line(self._robots_url)
            yield check_failed("robots.answers", str(error), "put a robots.txt there, with the line below")
            return
        except SourceError as error:
            remedy = "crawlers that get no robots.txt stay away, or look for no sitemap: let it answer 200"
            yield check_failed("robots.answers", _error_text(self._robots_url, error), remedy)
            yield check_unknown("sitemap.declared", "whether robots.txt names the sitemap")
            return
        yield from robots_txt.check_robots_response(reply, self._robots_url)
        declared = robots_txt.check_declared(reply.body, self.sitemap_url)
        yield declared
        if declared.status is CheckStatus.PROBLEM:
            self._note_missing_line(self._robots_url)
        yield robots_txt.check_allowed(reply.body, self.sitemap_url, time.time())

    def _sitemap(self) -> Iterator[DiscoveryCheck]:
        try:
            reply = self._reply(self.sitemap_url)
        except SourceError as error:
            remedy = "let the web server serve it there, or say where it is with --sitemap-url"
            yield check_failed("sitemap.answers", _error_text(self.sitemap_url, error), remedy)
            return
        yield from sitemap_file.check_sitemap_response(reply, self.sitemap_url)
        if self._file:
            yield sitemap_file.check_same(reply.body, self._file)
        listed = sitemap_file.SetContents(self.sitemap_url, self._downloader.robots)
        listed.read_published(reply.body, self._downloader.open)
        if self._file:
            listed.read_local(self._file)
        yield from listed.checks()
        for where in listed.missing:
            self._note_missing_line(f"{where}/robots.txt")

    def _note_missing_line(self, robots_url: str) -> None:
        self.missing[robots_url] = missing_lines(b"", [self.sitemap_url])


def _named_sitemaps(body: bytes, home: str) -> list[Url]:
    """The sitemaps of an origin that a robots.txt names."""
    found = []
    for each in sitemaps_in(body):
        with suppress(InvalidUrl):
            found.append(normalize_url(each, _KEEP_ALL_PARAMS))
    return [each for each in found if origin_of(each) == home]


def _error_text(url: str, error: SourceError) -> str:
    """Why there is no answer, with the address that was asked for."""
    return str(error) if url in str(error) else f"{url}: {error}"


def check_one_robots_txt(sitemap_urls: list[Url]) -> list[Url]:
    """The sitemaps, which are of one origin and so belong into one robots.txt. Raises UsageError."""
    homes = list(dict.fromkeys(origin_of(url) for url in sitemap_urls))
    if len(homes) > 1:
        raise UsageError(
            f"these sites have {len(homes)} robots.txt, and --patch is for one ({', '.join(homes)}): name one (--site)"
        )
    return sitemap_urls
