"""Looks whether a published sitemap is declared, can be had and is the right one: asks the site for both files."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from crawler.config.config import Config
from crawler.config.plan import plan_scope
from crawler.crawl.download import DocumentNotFound, Downloader
from crawler.errors import UsageError
from crawler.fetch.media_type import parse_media_type
from crawler.model import Reply, Url
from crawler.robots.rules import MAX_BYTES as MAX_ROBOTS_BYTES
from crawler.robots.rules import Blocked, parse_robots
from crawler.url.normalize import InvalidUrl, normalize_url, origin_of
from crawler.url.params import UrlParams
from sitemap import (
    CrossSubmits,
    Finding,
    Format,
    ReadLimits,
    SitemapError,
    SitemapReader,
    SourceError,
    TreeLimits,
    form,
    iter_entries,
    missing_lines,
    sitemaps_in,
)


class CheckStatus(StrEnum):
    """How a thing that was looked at is."""

    OK = "ok"
    PROBLEM = "problem"
    UNKNOWN = "not checked"


class DiscoveryCheck(Struct, frozen=True):
    """One thing that was looked at. ``about`` is a stable name, ``told`` and ``remedy`` are sentences."""

    about: str
    status: CheckStatus
    message: str
    remedy: str = ""


class Declaration(Struct, frozen=True, kw_only=True):
    """How a sitemap is declared. ``missing`` are the lines that each robots.txt lacks, by its URL."""

    name: str
    sitemap_url: str
    robots_url: str
    checks: tuple[DiscoveryCheck, ...]
    missing: dict[str, list[str]]

    @property
    def is_ok(self) -> bool:
        """Whether nothing has to be done."""
        return all(look.status is not CheckStatus.PROBLEM for look in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The same in values that JSON knows."""
        return {
            "name": self.name,
            "sitemap_url": self.sitemap_url,
            "robots_url": self.robots_url,
            "well": self.is_ok,
            "checks": [
                {"about": each.about, "outcome": each.status, "told": each.message, "remedy": each.remedy}
                for each in self.checks
            ],
            "missing": self.missing,
        }


def check_passed(about: str, told: str) -> DiscoveryCheck:
    """All is well with it."""
    return DiscoveryCheck(about, CheckStatus.OK, told)


def check_failed(about: str, told: str, remedy: str) -> DiscoveryCheck:
    """Something has to be done about it."""
    return DiscoveryCheck(about, CheckStatus.PROBLEM, told, remedy)


def check_unknown(about: str, told: str) -> DiscoveryCheck:
    """It could not be looked at."""
    return DiscoveryCheck(about, CheckStatus.UNKNOWN, told)


CRAWLERS: Final = ("*", "Googlebot", "Bingbot")

"""Those whose rules are asked whether they may fetch the sitemap."""

_MAX_NAMED: Final = 5


def check_robots_response(reply: Reply, asked: str) -> Iterator[DiscoveryCheck]:
    """Whether an answer with status 200 is one that crawlers take for a robots.txt."""
    size = f"{len(reply.body):,} bytes"
    way = "" if reply.url == asked else f", by a redirect to {reply.url}"
    yield check_passed("robots.answers", f"{asked} answered 200, {size}{way}")
    label = parse_media_type(reply.header("content-type") or "")
    if reply.body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        yield check_failed(
            "robots.type",
            f"robots.txt is a web page ({label or 'without a Content-Type'}), no text",
            "serve a text file there; that page hides that there is none",
        )
    elif label != "text/plain":
        yield check_failed(
            "robots.type",
            f"robots.txt is served as {label or 'nothing in particular'}",
            "serve it with Content-Type: text/plain; charset=utf-8 (RFC 9309, section 2.3)",
        )
    else:
        yield check_passed("robots.type", "robots.txt is served as text/plain")
    yield _decoded_text(reply)


def _decoded_text(reply: Reply) -> DiscoveryCheck:
    body = reply.body
    if reply.cut or len(body) > MAX_ROBOTS_BYTES:
        return check_failed(
            "robots.text",
            f"robots.txt is larger than {MAX_ROBOTS_BYTES:,} bytes, and crawlers need not read on from there",
            "shorten it, or move the Sitemap lines to its beginning",
        )
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        return check_failed(
            "robots.text", f"line {line} of robots.txt is not UTF-8", "save the file as UTF-8"
        )
    return check_passed("robots.text", "robots.txt is UTF-8 and short enough")


def check_declared(body: bytes, sitemap_url: Url) -> DiscoveryCheck:
    """Whether a robots.txt names a sitemap, in any spelling of the same address."""
    named = sitemaps_in(body)
    if not missing_lines(body, [sitemap_url]):
        return check_passed("sitemap.declared", f"robots.txt names {sitemap_url}")
    if twin := next(
        (each for each in named if _without_scheme_and_www(each) == _without_scheme_and_www(sitemap_url)), ""
    ):
        return check_failed(
            "sitemap.declared",
            f"robots.txt names {twin}, and what is published is {sitemap_url}",
            "these are two addresses: change that line",
        )
    others = f"; it names {', '.join(named[:_MAX_NAMED])}" if named else ""
    if len(named) > _MAX_NAMED:
        others += f" and {len(named) - _MAX_NAMED} more"
    return check_failed(
        "sitemap.declared", f"robots.txt does not name {sitemap_url}{others}", "add the line below"
    )


def check_allowed(body: bytes, sitemap_url: Url, now: float) -> DiscoveryCheck:
    """Whether the crawlers may fetch a sitemap: one that is blocked is declared in vain."""
    blocked: dict[str, list[str]] = {}
    for who in CRAWLERS:
        answer = parse_robots(body, who, now).can_fetch(sitemap_url)
        if isinstance(answer, Blocked):
            blocked.setdefault(answer.reason, []).append("whom it does not name" if who == "*" else who)
    if not blocked:
        return check_passed(
            "sitemap.allowed", "robots.txt lets everybody fetch the sitemap, Googlebot and Bingbot too"
        )
    told = "robots.txt blocks the sitemap: " + "; ".join(
        f"{why} ({_name_crawlers(who)})" for why, who in blocked.items()
    )
    path = urlsplit(sitemap_url).path
    return check_failed("sitemap.allowed", told, f'let it be fetched: add "Allow: {path}" to that group')


def _name_crawlers(names: list[str]) -> str:
    if len(names) == len(CRAWLERS):
        return "for everybody"
    return f"for {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


def _without_scheme_and_www(url: str) -> str:
    """An address without what http and https, and www and its absence, differ in."""
    try:
        return form(url).partition("://")[2].removeprefix("www.")
    except ValueError:
        return url


MAX_HOSTS: Final = 20  # whose robots.txt is asked

MAX_FILES: Final = 6  # of a set that are asked for

MAX_EXAMPLES: Final = 5  # of these, that do not answer

_FEEDS: Final = {"application/rss+xml", "application/atom+xml", "application/rdf+xml"}

_XML: Final = {"application/xml", "text/xml", *_FEEDS}

_GZIP_TYPES: Final = {"application/gzip", "application/x-gzip", "application/octet-stream"}

_GZIP: Final = b"\x1f\x8b"

_ONE_ENTRY: Final = ReadLimits(max_entries=1)


def check_sitemap_response(reply: Reply, sitemap_url: Url) -> Iterator[DiscoveryCheck]:
    """Whether an answer with status 200 is a sitemap, at its own address and under its own label."""
    yield check_passed("sitemap.answers", f"{reply.url} answered 200, {len(reply.body):,} bytes")
    if reply.url != sitemap_url:
        yield check_failed(
            "sitemap.direct",
            f"{sitemap_url} redirects to {reply.url}",
            f"declare {reply.url} instead (--sitemap-url), or serve the file without a redirect",
        )
    else:
        yield check_passed("sitemap.direct", "the sitemap is there itself, without a redirect")
    fault, kind = _sniff(reply.body, sitemap_url)
    yield _check_label(reply, kind)
    if fault:
        yield check_failed(
            "sitemap.is_one", fault, "have the web server serve the file that was published there, as it is"
        )
    else:
        yield check_passed("sitemap.is_one", f"what is served is a sitemap ({kind})")


def is_sitemap(body: bytes, url: str) -> bool:
    """Whether it looks like a sitemap from its beginning."""
    return not _sniff(body, url)[0]


def _sniff(body: bytes, url: str) -> tuple[str, Format | None]:
    """Why it is no sitemap, or "", and what it is. A glance at its beginning is enough."""
    reader = SitemapReader(body, url, _ONE_ENTRY)
    try:
        list(reader)
    except SitemapError as error:
        return str(error), reader.format
    return "", reader.format


def _check_label(reply: Reply, kind: Format | None) -> DiscoveryCheck:
    label = parse_media_type(reply.header("content-type") or "")
    if reply.body.startswith(_GZIP):
        fits, wanted = label in _GZIP_TYPES, "application/gzip"
    elif kind is Format.TEXT:
        fits, wanted = label == "text/plain", "text/plain"
    else:
        fits, wanted = label in _XML, "application/xml"
    if fits:
        return check_passed("sitemap.type", f"the sitemap is served as {label}")
    return check_failed(
        "sitemap.type",
        f"the sitemap is served as {label or 'nothing in particular'}",
        f"serve it with Content-Type: {wanted}",
    )


def check_same(body: bytes, file: Path) -> DiscoveryCheck:
    """Whether what is served is the local file, byte by byte."""
    try:
        here = file.read_bytes()
    except OSError as error:
        return check_unknown("sitemap.same", f"{file}: {error.strerror or error}")
    if here == body:
        return check_passed("sitemap.same", f"the sitemap is {file}, byte by byte")
    return check_failed(
        "sitemap.same",
        f"the sitemap is not {file}: {len(body):,} bytes are served, and the file has {len(here):,}",
        "let the web server serve that directory, or copy the files there; a cache may hold an older one",
    )


class SetContents:
    """What the set lists, as far as that says whether crawlers can use it: its files, and the hosts of its URLs.

    ``robots`` answers the robots.txt of another host, None when there is none. Each host in ``missing`` must name the
    sitemap: https://www.sitemaps.org/protocol.html#sitemaps_cross_submits
    """

    def __init__(self, sitemap_url: Url, robots: Callable[[str], bytes | None]) -> None:
        self.missing: list[str] = []
        self._url = sitemap_url
        self._submits = CrossSubmits(sitemap_url, robots, max_origins=MAX_HOSTS)
        self._firsts: list[str] = []  # the first URL of each of these hosts
        self._unread: list[Finding] = []
        self._is_whole = False

    def read_published(self, body: bytes, opener: Callable[[str], bytes]) -> None:
        """Take the files that are served, the first of them: of a large set they are all alike."""
        self._take(body, opener, TreeLimits(max_files=MAX_FILES))

    def read_local(self, file: Path) -> None:
        """Take the files on disk, all of them."""
        self._take(file, None, TreeLimits())
        self._is_whole = True

    def _take(self, source: bytes | Path, opener: Callable[[str], bytes] | None, limits: TreeLimits) -> None:
        lost = self._unread.append if opener else _ignore
        with suppress(SitemapError):  # told already
            for entry in iter_entries(source, opener, self._url, limits, unread=lost):
                known = len(self._submits.origins)
                self._submits.is_vouched(entry.loc)
                if len(self._submits.origins) > known:
                    self._firsts.append(entry.loc)

    def checks(self) -> Iterator[DiscoveryCheck]:
        """What there is to tell; nothing of a set of one file, all of whose URLs are of its own host."""
        unread = [each for each in self._unread if each.rule == "index.child_unreadable"]
        for each in unread[:MAX_EXAMPLES]:
            yield check_failed(
                "files.answer", each.sentence, "have the web server serve every file that the index lists"
            )
        if len(self._unread) > len(unread) and not self._is_whole:
            yield check_unknown(
                "hosts.declared", f"whether files beyond the first {MAX_FILES} list URLs of other hosts"
            )
        for (where, is_named), first in zip(self._submits.origins.items(), self._firsts, strict=True):
            told = f"the sitemap lists URLs of {where}, such as {first}, whose robots.txt"
            if is_named:
                yield check_passed("hosts.declared", f"{told} names it")
            else:
                self.missing.append(where)
                remedy = "take out of the sitemap what it lists by mistake, or add the line below there"
                yield check_failed("hosts.declared", f"{told} does not name it", remedy)
        if self._submits.full:
            yield check_unknown(
                "hosts.declared", f"the hosts beyond the first {MAX_HOSTS} whose URLs it lists"
            )


def _ignore(_: Finding) -> None:
    """The files on disk are lint's to judge."""


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
        is_here = origin_of(reply.url) == origin_of(url) and is_sitemap(reply.body, reply.url)
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
        yield from check_robots_response(reply, self._robots_url)
        declared = check_declared(reply.body, self.sitemap_url)
        yield declared
        if declared.status is CheckStatus.PROBLEM:
            self._note_missing_line(self._robots_url)
        yield check_allowed(reply.body, self.sitemap_url, time.time())

    def _sitemap(self) -> Iterator[DiscoveryCheck]:
        try:
            reply = self._reply(self.sitemap_url)
        except SourceError as error:
            remedy = "let the web server serve it there, or say where it is with --sitemap-url"
            yield check_failed("sitemap.answers", _error_text(self.sitemap_url, error), remedy)
            return
        yield from check_sitemap_response(reply, self.sitemap_url)
        if self._file:
            yield check_same(reply.body, self._file)
        listed = SetContents(self.sitemap_url, self._downloader.robots)
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
