"""Which URLs belong to the crawl, and which of them the sitemap may list. Knows nothing of robots or of answers.

The scope is the location rule (https://www.sitemaps.org/protocol.html#location): what lies in the sitemap's directory,
on its scheme, host and port. An operator may widen it to more hosts:

- ``subdomains``: the hosts of the same registrable domain are crawled, for their links. The location rule still
  keeps their pages out of the sitemap.
- ``hosts``: these are crawled, with the hosts below them when a registrable domain (or ``*.example.org``) is named,
  and their pages are listed. A search engine accepts that only when the robots.txt of
  such a host names the sitemap (https://www.sitemaps.org/protocol.html#sitemaps_cross_submits), which is the operator's
  to see to: :meth:`Scope.needs_cross_submit` tells these pages apart.
"""

from functools import cache
from typing import Final, NamedTuple

from msgspec import Struct

from crawler.model import DiscoveredBy, DocumentKind, State, StatusBadge, Url
from crawler.url.normalize import InvalidUrl, host_of, normalize_url, origin_of, path_of
from crawler.url.patterns import ScopeError, UrlPattern, compile_patterns

__all__ = ["MAX_FETCHED_LENGTH", "MAX_LISTED_LENGTH", "CrawlBounds", "Scope", "ScopeError"]


MAX_FETCHED_LENGTH: Final = 8_192

"""Characters of a URL that is still fetched."""

MAX_LISTED_LENGTH: Final = 2_047

"""Characters of a URL in a sitemap: "less than 2,048" (https://www.sitemaps.org/protocol.html#locdef)."""

MIN_LISTED_LENGTH: Final = 12  # the schema's tLoc, minLength


_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}

# Plain integers: flags are asked about once for every link, and operations of an enum are slow.
_SEED: Final = int(DiscoveredBy.SEED)

_NOFOLLOW: Final = int(DiscoveredBy.NOFOLLOW)


class CrawlBounds(Struct, frozen=True):
    """Where a crawl stops following, because nothing good lies there.

    ``max_depth`` counts clicks from the start. A path with more than ``max_segments`` segments, or that repeats one
    segment, or a sequence of them, more than ``max_repeats`` times in a row, is a trap.
    """

    max_depth: int | None = None
    max_segments: int = 32
    max_repeats: int = 3


class _NamedHost(NamedTuple):
    name: str
    port: str  # "" for the default ports of both schemes
    is_domain: bool  # the hosts below it are meant too


class Scope:
    """Answers two questions: :meth:`admit` (is a URL crawled?) and :meth:`may_list` (may the sitemap list it?).

    ``include`` and ``exclude`` are patterns as in :mod:`crawler.url.patterns`. Raises :class:`ScopeError` for a pattern
    or a host that cannot be used.
    """

    def __init__(
        self,
        sitemap_url: Url,
        include: tuple[str, ...] = (),
        exclude: tuple[str, ...] = (),
        bounds: CrawlBounds = CrawlBounds(),  # noqa: B008 - frozen
        subdomains: bool = False,
        hosts: tuple[str, ...] = (),
    ) -> None:
        where = path_of(sitemap_url)
        self.origin = origin_of(sitemap_url)
        self.directory = self.origin + where[: where.rfind("/") + 1]
        self.bounds = bounds
        self._include = compile_patterns("include", include)
        self._exclude = compile_patterns("exclude", exclude)
        self._subdomains = subdomains
        self._named = tuple(_named_host(text) for text in hosts)
        self._origins: dict[str, str] = {self.origin: "own"}

    def admit(
        self, url: Url, depth: int, found: int, kind: DocumentKind = DocumentKind.PAGE
    ) -> StatusBadge | None:
        """None when the URL is crawled, else how it ends, with the rule that says so.

        A seed is crawled wherever it lies on a host of ours: patterns, directory and depth choose among what it leads
        to. A sitemap file needs a host of ours only, in either scheme; what it lists is asked about one by one.
        """
        if len(url) > MAX_FETCHED_LENGTH:
            reason = f"{len(url):,} characters long; over {MAX_FETCHED_LENGTH:,} it is not fetched"
            return StatusBadge(State.TOO_LONG, reason)
        if kind is DocumentKind.SITEMAP:
            is_ours = host_of(url) == host_of(Url(self.directory)) or self._relation(url) != ""
            return None if is_ours else self._foreign(url)
        standing = self._relation(url)
        if not standing:
            return self._foreign(url)
        if found & _SEED:
            return None
        if standing == "own" and not url.startswith(self.directory):
            return StatusBadge(State.OUT_OF_SCOPE, f"outside {self.directory}, where the sitemap is")
        return self._refused_by_pattern(url) or self._refused_by_bound(url, depth, found)

    def may_list(self, url: Url) -> StatusBadge | None:
        """None when the sitemap may list the URL, else how it ends although it is a page like any other."""
        if len(url) > MAX_LISTED_LENGTH:
            reason = f"{len(url):,} characters long; a sitemap takes less than {MAX_LISTED_LENGTH + 1:,}"
            return StatusBadge(State.TOO_LONG, reason)
        if len(url) < MIN_LISTED_LENGTH:
            return StatusBadge(
                State.OUT_OF_SCOPE, f"the sitemap schema takes no URL under {MIN_LISTED_LENGTH} characters"
            )
        standing = self._relation(url)
        if standing == "subdomain":
            reason = (
                f"{origin_of(url)} is crawled for its links; a sitemap in {self.directory} cannot list it"
            )
            return StatusBadge(State.OUT_OF_SCOPE, f"{reason} unless the host is named as one of the site's")
        if not standing:
            return self._foreign(url)
        if standing == "own" and not url.startswith(self.directory):
            return StatusBadge(State.OUT_OF_SCOPE, f"outside {self.directory}, where the sitemap is")
        return self._refused_by_pattern(url)

    def needs_cross_submit(self, url: Url) -> bool:
        """Whether a listed URL counts only if the robots.txt of its host names the sitemap."""
        return self._relation(url) == "named"

    def _foreign(self, url: Url) -> StatusBadge:
        if host_of(url) == host_of(Url(self.directory)):
            return StatusBadge(
                State.OUT_OF_SCOPE, f"another scheme or port: {origin_of(url)} is not {self.origin}"
            )
        return StatusBadge(State.OUT_OF_SCOPE, f"another host: {host_of(url)}")

    def _relation(self, url: Url) -> str:
        """What the origin of a URL is to us: "own", "named", "subdomain" or "" for foreign."""
        home = origin_of(url)
        if home == self.origin:
            return "own"
        if not (self._named or self._subdomains):
            return ""
        standing = self._origins.get(home)
        if standing is None:
            standing = self._judge_origin(url)
            if len(self._origins) < 10_000:
                self._origins[home] = standing
        return standing

    def _judge_origin(self, url: Url) -> str:
        name, door = host_of(url), _scheme_and_port(url)
        for named in self._named:
            is_open = door[1] == named.port or (not named.port and door[1] == _DEFAULT_PORTS[door[0]])
            if is_open and (name == named.name or (named.is_domain and name.endswith(f".{named.name}"))):
                return "named"
        if self._subdomains and door == _scheme_and_port(Url(self.directory)):
            domain = registrable_domain(host_of(Url(self.directory)))
            return "subdomain" if domain and (name == domain or name.endswith(f".{domain}")) else ""
        return ""

    def _refused_by_pattern(self, url: Url) -> StatusBadge | None:
        for pattern in self._exclude:
            if pattern.matches(url):
                return StatusBadge(State.EXCLUDED, f'matches exclude "{pattern.text}"')
        if self._include and not any(pattern.matches(url) for pattern in self._include):
            shown = ", ".join(f'"{pattern.text}"' for pattern in self._include[:3])
            return StatusBadge(
                State.EXCLUDED, f"matches no include pattern ({shown}{_and_more(self._include)})"
            )
        return None

    def _refused_by_bound(self, url: Url, depth: int, found: int) -> StatusBadge | None:
        if trap := why_path_is_trap(path_of(url), self.bounds):
            return StatusBadge(State.TRAP, trap)
        if self.bounds.max_depth is not None and depth > self.bounds.max_depth:
            return StatusBadge(
                State.TOO_DEEP, f"{depth} clicks from the start; the limit is {self.bounds.max_depth}"
            )
        if found == _NOFOLLOW:
            return StatusBadge(State.NOFOLLOW, "only links that say nofollow lead here")
        return None


def why_path_is_trap(where: str, bounds: CrawlBounds) -> str:
    """What makes a path look endless, in a sentence, or "". The cost is bounded by ``bounds.max_segments``."""
    segments = where.split("/")[1:]
    count = len(segments)
    if count > bounds.max_segments:
        return f"trap.path_segments: {count} path segments; the limit is {bounds.max_segments}"
    if count <= bounds.max_repeats or len(set(segments)) == count:
        return ""
    for period in range(1, count // (bounds.max_repeats + 1) + 1):
        run = 0
        for index in range(period, count):
            run = run + 1 if segments[index] == segments[index - period] else 0
            if run >= period * bounds.max_repeats:
                repeated = "/".join(segments[index - period + 1 : index + 1])[:80]
                return f'trap.path_repetition: "/{repeated}" more than {bounds.max_repeats} times in a row'
    return ""


@cache
def registrable_domain(name: str) -> str:
    """The part of a host name that can be registered (``example.co.uk``), or "" (an address, a public suffix).

    From the snapshot of https://publicsuffix.org in ``tldextract``, private suffixes included; nothing is fetched.
    """
    # A tenth of a second, for the few crawls that need it.
    from tldextract import TLDExtract  # noqa: PLC0415

    extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    return extract(name).top_domain_under_public_suffix


def _named_host(text: str) -> _NamedHost:
    bare = text.removeprefix("*.")
    try:
        url = normalize_url(bare if "://" in bare else f"http://{bare}")
    except InvalidUrl as error:
        raise ScopeError(
            f'hosts: "{text}" is no host name, like www.example.org or example.org:8443'
        ) from error
    scheme, port = _scheme_and_port(url)
    name = host_of(url)
    is_domain = bare != text or registrable_domain(name) == name
    return _NamedHost(name, "" if port == _DEFAULT_PORTS[scheme] else port, is_domain)


def _scheme_and_port(url: Url) -> tuple[str, str]:
    """Scheme and port."""
    home = origin_of(url)
    scheme = home.partition(":")[0]
    port = home.rpartition(":")[2]
    return scheme, port if port.isdigit() else _DEFAULT_PORTS[scheme]


def _and_more(patterns: tuple[UrlPattern, ...]) -> str:
    return f" and {len(patterns) - 3} more" if len(patterns) > 3 else ""


def alias_origins(start: Url) -> list[str]:
    """The origins that lead to the same site as that of ``start``, as nearly all servers have it, without that one."""
    home = origin_of(start)
    port = home[home.index("://") + 3 + len(host_of(start)) :]
    bare = host_of(start).removeprefix("www.")
    every = (f"{scheme}://{www}{bare}{port}" for scheme in ("https", "http") for www in ("", "www."))
    return [each for each in every if each != home]
