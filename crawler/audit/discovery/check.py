"""Checks that robots.txt declares the published sitemap, and that both files answer correctly."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from crawler.audit.discovery.readers import (
    SEARCH_READERS,
    CheckStatus,
    Declaration,
    DiscoveryCheck,
    check,
    check_ai_access,
    check_preferences,
    check_reader,
    likely_cause,
)
from crawler.config.config import Config
from crawler.config.plan import plan_scope
from crawler.crawl.sitemap_download import DocumentNotFound, Downloader
from crawler.errors import UsageError
from crawler.fetch.header_values import looks_like_text, parse_media_type
from crawler.model import Reply, Url
from crawler.robots.rules import MAX_BYTES as MAX_ROBOTS_BYTES
from crawler.robots.rules import Blocked, parse_robots
from crawler.url.normalize import DEFAULT_PARAMS, InvalidUrl, normalize_url, origin_of
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

CRAWLERS: Final = ("*", "Googlebot", "Bingbot")
"""User agents that must be allowed to fetch the sitemap."""

_MAX_NAMED: Final = 5


def check_robots_response(reply: Reply, url: str) -> Iterator[DiscoveryCheck]:
    """Whether crawlers accept an answer with status 200 as robots.txt."""
    redirect = "" if reply.url == url else f", by a redirect to {reply.url}"
    yield check("robots.answers/ok", url=url, size=len(reply.body), redirect=redirect)
    label = parse_media_type(reply.header("content-type") or "")
    if reply.body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        yield check("robots.type/page", label=label or "without a Content-Type")
    else:
        yield check("robots.type/ok" if label == "text/plain" else "robots.type/other", label=_served(label))
    if reply.is_miscoded:  # it has not the compression that it names: RFC 9110, section 8.4
        yield check("robots.coding", coding=reply.header("content-encoding"))
    yield _decoded_text(reply)


def _served(label: str) -> str:
    return f"as {label}" if label else "without a Content-Type"


def _decoded_text(reply: Reply) -> DiscoveryCheck:
    body = reply.body
    if not body.strip():
        return check("robots.text/empty")
    if not looks_like_text(body):
        return check("robots.text/binary")
    if reply.cut or len(body) > MAX_ROBOTS_BYTES:
        return check("robots.text/long", most=MAX_ROBOTS_BYTES)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return check("robots.text/encoding", line=body.count(b"\n", 0, error.start) + 1)
    return check("robots.text/ok")


def check_declared(body: bytes, sitemap_url: Url) -> DiscoveryCheck:
    """Whether a robots.txt names a sitemap, in any spelling of the same URL."""
    named = sitemaps_in(body)
    if not missing_lines(body, [sitemap_url]):
        return check("sitemap.declared/ok", url=sitemap_url)
    wanted = _without_scheme_and_www(sitemap_url)
    if similar := next((url for url in named if _without_scheme_and_www(url) == wanted), ""):
        return check("sitemap.declared/similar", similar=similar, url=sitemap_url)
    others = f"; it names {', '.join(named[:_MAX_NAMED])}" if named else ""
    if len(named) > _MAX_NAMED:
        others += f" and {len(named) - _MAX_NAMED} more"
    return check("sitemap.declared/missing", url=sitemap_url, others=others)


def check_allowed(body: bytes, sitemap_url: Url, start: Url, now: float) -> Iterator[DiscoveryCheck]:
    """Whether crawlers may fetch the sitemap, and a failed check if they may not fetch the start page of its host."""
    is_here = origin_of(start) == origin_of(sitemap_url)
    if is_here and (reasons := _blocked(body, start, now)):
        yield check("start.allowed/blocked", url=start, reasons=reasons)
    reasons = _blocked(body, sitemap_url, now)
    case = "sitemap.allowed/blocked" if reasons else "sitemap.allowed/ok"
    yield check(case, reasons=reasons, path=urlsplit(sitemap_url).path)


def _blocked(body: bytes, url: Url, now: float) -> str:
    """The rules that forbid crawlers a URL, each with these crawlers; "" if there is none."""
    blocked: dict[str, list[str]] = {}
    for crawlers in CRAWLERS:
        access = parse_robots(body, crawlers, now).can_fetch(url)
        if isinstance(access, Blocked):
            blocked.setdefault(access.reason, []).append("all other crawlers" if crawlers == "*" else crawlers)
    return "; ".join(f"{reason} ({_name_crawlers(crawlers)})" for reason, crawlers in blocked.items())


def _name_crawlers(names: list[str]) -> str:
    if len(names) == len(CRAWLERS):
        return "for all crawlers"
    return f"for {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"


def _without_scheme_and_www(url: str) -> str:
    """A URL without scheme and "www."."""
    try:
        return form(url).partition("://")[2].removeprefix("www.")
    except ValueError:
        return url


MAX_HOSTS: Final = 20  # other hosts whose robots.txt is fetched
MAX_FILES: Final = 6  # files of a set to fetch
MAX_EXAMPLES: Final = 5  # of files that do not answer
_FEEDS: Final = {"application/rss+xml", "application/atom+xml", "application/rdf+xml"}
_XML: Final = {"application/xml", "text/xml", *_FEEDS}
_GZIP_TYPES: Final = {"application/gzip", "application/x-gzip", "application/octet-stream"}
_GZIP: Final = b"\x1f\x8b"
_ONE_ENTRY: Final = ReadLimits(max_entries=1)


def check_sitemap_response(reply: Reply, sitemap_url: Url) -> Iterator[DiscoveryCheck]:
    """Whether an answer with status 200 is a sitemap, without a redirect and with the right type."""
    yield check("sitemap.answers/ok", url=reply.url, size=len(reply.body))
    is_direct = reply.url == sitemap_url
    yield check("sitemap.direct/ok" if is_direct else "sitemap.direct/redirect", url=sitemap_url, end=reply.url)
    if len(reply.body) > MAX_BYTES:
        yield check("sitemap.size", most=MAX_BYTES)
    if tag := reply.header("x-robots-tag"):
        yield check("sitemap.robots_tag", tag=tag)
    if reply.is_miscoded:
        yield check("sitemap.coding", coding=reply.header("content-encoding"))
    fault, kind, defects = _sniff(reply.body, sitemap_url)
    yield _check_label(reply, kind)
    fault = fault or defects
    yield check("sitemap.is_one/fault" if fault else "sitemap.is_one/ok", fault=fault, kind=kind)


def _sniff(body: bytes, url: str) -> tuple[str, Format | None, str]:
    """Why a body is no sitemap, or ""; its format; and what is wrong with it all the same. Reads only the beginning.

    Some readers forgive a blank line before the XML declaration, or gzip in gzip; the protocol does not.
    """
    reader = SitemapReader(body, url, _ONE_ENTRY)
    fault = ""
    try:
        list(reader)
    except SitemapError as error:
        fault = str(error)
    # a server may send a .gz file decompressed, with a Content-Encoding
    defects = (found.sentence for found in reader.findings if found.rule != "sitemap.mislabelled")
    return fault, reader.format, "; ".join(defects)


def _check_label(reply: Reply, kind: Format | None) -> DiscoveryCheck:
    label = parse_media_type(reply.header("content-type") or "")
    if reply.body.startswith(_GZIP):
        is_expected, expected = label in _GZIP_TYPES, "application/gzip"
    elif kind is Format.TEXT:
        is_expected, expected = label == "text/plain", "text/plain"
    else:
        is_expected, expected = label in _XML, "application/xml"
    case = "sitemap.type/ok" if is_expected else "sitemap.type/other"
    return check(case, label=_served(label), expected=expected)


def check_same(body: bytes, file: Path) -> DiscoveryCheck:
    """Whether the served sitemap is identical to the local file."""
    try:
        local = file.read_bytes()
    except OSError as error:
        return check("sitemap.same/unknown", file=file, error=error.strerror or error)
    case = "sitemap.same/ok" if local == body else "sitemap.same/differs"
    return check(case, file=file, size=len(body), local=len(local))


class SetContents:
    """Checks the files of a sitemap set, and the hosts of its URLs.

    ``robots`` returns the robots.txt of another host, None when there is none. Each host in ``missing`` must name the
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
        """Read the first of the served files: those of a large set are alike."""
        self._take(body, opener, TreeLimits(max_files=MAX_FILES))

    def read_local(self, file: Path) -> None:
        """Read all files on disk."""
        self._take(file, None, TreeLimits())
        self._is_whole = True

    def _take(self, source: bytes | Path, opener: Callable[[str], bytes] | None, limits: TreeLimits) -> None:
        on_unread = self._unread.append if opener else lambda _: None  # lint checks the files on disk
        with suppress(SitemapError):  # another check reports it
            for entry in iter_entries(source, opener, self._url, limits, unread=on_unread):
                known = len(self._submits.origins)
                self._submits.vouched(entry.loc)
                if len(self._submits.origins) > known:
                    self._firsts.append(entry.loc)

    def checks(self) -> Iterator[DiscoveryCheck]:
        """The checks; none for a single file whose URLs are all on its own host."""
        unread = [finding for finding in self._unread if finding.rule == "index.child_unreadable"]
        for finding in unread[:MAX_EXAMPLES]:
            yield check("files.answer", error=finding.sentence)
        if len(self._unread) > len(unread) and not self._is_whole:
            yield check("hosts.declared/files", most=MAX_FILES)
        for (host, is_named), first in zip(self._submits.origins.items(), self._firsts, strict=True):
            self.missing += [] if is_named else [host]
            yield check("hosts.declared/ok" if is_named else "hosts.declared/missing", host=host, first=first)
        if self._submits.full:
            yield check("hosts.declared/hosts", most=MAX_HOSTS)


MAX_BYTES: Final = 52_428_800  # of the sitemap, as the protocol allows
MAX_NAMED: Final = 5  # sitemaps in robots.txt to try


def check_discovery(name: str, config: Config, *, as_readers: bool = False) -> Declaration:
    """Check the sitemap of a site. Raises UsageError; problems of the site are part of the result.

    ``as_readers`` also requests the sitemap under the names of search engines.
    It requests the public site, never ``fetch.source``, and sends it no secrets of the source. Without a configured
    sitemap URL and without an output directory, it checks the sitemap that the site declares.
    """
    seed, sitemap_url, _ = plan_scope(config)
    robots_url = f"{origin_of(sitemap_url)}/robots.txt"
    public = _public_config(config)
    with Downloader(public, list(dict.fromkeys((origin_of(sitemap_url), origin_of(seed)))), MAX_BYTES) as downloader:
        checker = _DiscoveryChecker(downloader, seed, sitemap_url, robots_url, config)
        assumed = () if config.site.sitemap_url or config.output.directory else tuple(checker.find_other_sitemap())
        checks = (*assumed, *checker.checks())
        if as_readers:
            checks += tuple(_check_readers(public, checker))
            checks += (likely_cause(checks, has_robots=checker.has_robots),)
    return Declaration(
        name=name, sitemap_url=checker.sitemap_url, robots_url=robots_url, checks=checks, missing=checker.missing
    )


def _check_readers(config: Config, checker: "_DiscoveryChecker") -> Iterator[DiscoveryCheck]:
    own = checker.answer()
    for name, agent in SEARCH_READERS.items():
        told = check_reader(name, own, _answer_to(agent, config, checker.sitemap_url))
        if own is not None or told.status is CheckStatus.OK:  # else it fails for everybody
            yield told


def _answer_to(agent: str, config: Config, url: Url) -> Reply | str:
    """The answer to a request with a user agent, or why there is none."""
    named = config.model_copy(update={"fetch": config.fetch.model_copy(update={"user_agent": agent})})
    with Downloader(named, [origin_of(url)], MAX_BYTES) as downloader:
        try:
            return downloader.answer(url)
        except SourceError as error:
            return str(error)


def published_file(config: Config, sitemap_url: Url) -> Path | None:
    """The published file, if the configuration names its directory and it exists."""
    if not config.output.directory:
        return None
    file = Path(config.output.directory) / sitemap_url.partition("?")[0].rpartition("/")[2]
    return file if file.is_file() else None


def _public_config(config: Config) -> Config:
    """The configuration without ``fetch.source`` and its secrets."""
    if not config.fetch.source:
        return config
    plain = {"source": "", "basic_auth": "", "headers": {}, "cookies": {}}
    return config.model_copy(update={"fetch": config.fetch.model_copy(update=plain)})


class _DiscoveryChecker:
    """Makes the checks in the order of the output. ``missing`` grows meanwhile."""

    def __init__(self, downloader: Downloader, start: Url, sitemap_url: Url, robots_url: str, config: Config) -> None:
        self.missing: dict[str, list[str]] = {}
        self.sitemap_url = sitemap_url
        self.has_robots = True
        self._downloader = downloader
        self._reply = cache(downloader.get)
        self._start = start
        self._robots_url = robots_url
        self._file = published_file(config, sitemap_url)
        self._config = config

    def find_other_sitemap(self) -> Iterator[DiscoveryCheck]:
        """Check another sitemap instead: one that robots.txt names, or the target of a redirect."""
        body = self._downloader.robots(self._robots_url) or b""
        if not missing_lines(body, [self.sitemap_url]):
            return
        end = self._end(self.sitemap_url)
        named = _named_sitemaps(body, origin_of(self.sitemap_url))
        for declared in sorted(named, key=lambda url: url != end)[:MAX_NAMED]:
            if self._end(declared):
                self.sitemap_url = declared
                yield check("sitemap.meant/named", url=declared)
                return
        if end and end != self.sitemap_url:
            yield check("sitemap.meant/redirect", url=self.sitemap_url, end=end)
            self.sitemap_url = end

    def _end(self, url: Url) -> Url | None:
        """The URL of a sitemap after redirects, if there is one on the same origin."""
        try:
            reply = self._reply(url)
        except SourceError:
            return None
        is_here = origin_of(reply.url) == origin_of(url) and not _sniff(reply.body, reply.url)[0]
        return reply.url if is_here else None

    def checks(self) -> Iterator[DiscoveryCheck]:
        yield from self._robots()
        yield from self._sitemap()

    def answer(self) -> Reply | None:
        """The answer to a request for the sitemap under our own name, None without one."""
        try:
            return self._reply(self.sitemap_url)
        except SourceError:
            return None

    def _robots(self) -> Iterator[DiscoveryCheck]:
        try:
            reply = self._reply(self._robots_url)
        except DocumentNotFound as error:
            self.has_robots = False
            self._note_missing_line(self._robots_url)
            yield check("robots.answers/missing", error=error)
            return
        except SourceError as error:
            yield check("robots.answers/failed", error=_error_text(self._robots_url, error))
            yield check("sitemap.declared/unknown")
            return
        yield from check_robots_response(reply, self._robots_url)
        rules = parse_robots(reply.body, self._config.fetch.user_agent, time.time())
        for note in rules.delay_note(self._config.obey.max_crawl_delay):
            yield check("robots.delay", note=note)
        yield from check_allowed(reply.body, self.sitemap_url, self._start, time.time())
        declared = check_declared(reply.body, self.sitemap_url)
        yield declared
        if declared.status is CheckStatus.PROBLEM:
            self._note_missing_line(self._robots_url)
        yield check_ai_access(reply.body, self._start, time.time())
        yield from check_preferences(reply.body)

    def _sitemap(self) -> Iterator[DiscoveryCheck]:
        try:
            reply = self._reply(self.sitemap_url)
        except SourceError as error:
            case = "sitemap.answers/certificate" if "certificate" in str(error) else "sitemap.answers/failed"
            yield check(case, error=_error_text(self.sitemap_url, error))
            return
        yield from check_sitemap_response(reply, self.sitemap_url)
        if self._file:
            yield check_same(reply.body, self._file)
        contents = SetContents(self.sitemap_url, self._downloader.robots)
        contents.read_published(reply.body, self._downloader.open)
        if self._file:
            contents.read_local(self._file)
        yield from contents.checks()
        for host in contents.missing:
            self._note_missing_line(f"{host}/robots.txt")

    def _note_missing_line(self, robots_url: str) -> None:
        self.missing[robots_url] = missing_lines(b"", [self.sitemap_url])


def _named_sitemaps(body: bytes, origin: str) -> list[Url]:
    """The sitemaps in a robots.txt that are on an origin."""
    urls = []
    for url in sitemaps_in(body):
        with suppress(InvalidUrl):
            urls.append(normalize_url(url, DEFAULT_PARAMS.keeping_all))
    return [url for url in urls if origin_of(url) == origin]


def _error_text(url: str, error: SourceError) -> str:
    """Why there is no answer, with the requested URL."""
    return str(error) if url in str(error) else f"{url}: {error}"


def check_one_robots_txt(sitemap_urls: list[Url]) -> list[Url]:
    """The sitemaps, if they are on one origin and so belong in one robots.txt. Raises UsageError if not."""
    origins = list(dict.fromkeys(origin_of(url) for url in sitemap_urls))
    if len(origins) > 1:
        raise UsageError(
            f"the sites have {len(origins)} different robots.txt files ({', '.join(origins)}), but --patch edits "
            "only one file. Choose a site with --site"
        )
    return sitemap_urls
