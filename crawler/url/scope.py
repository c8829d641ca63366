"""Scope: which URLs are crawled, and which of them the sitemap may list. Pure.

The scope is the location rule (https://www.sitemaps.org/protocol.html#location): the URLs in the sitemap's directory,
on its scheme, host and port. An operator may widen it to more hosts:

- ``subdomains``: the hosts of the same registrable domain are crawled, for their links. The location rule still
  keeps their pages out of the sitemap.
- ``hosts``: these are crawled, with the hosts below them when a registrable domain (or ``*.example.org``) is named,
  and their pages are listed. Search engines accept that only when the robots.txt of
  such a host names the sitemap (https://www.sitemaps.org/protocol.html#sitemaps_cross_submits), which the operator
  must ensure: :meth:`Scope.needs_cross_submit` finds these pages.

Patterns of ``include`` and ``exclude`` narrow it:

- ``/private/*``: a glob that begins with ``/`` is matched with path and query.
- ``*/print/*``, ``https://example.com/*``: any other glob is matched with the whole URL.
- ``re:[?&]page=\\d+$``: a regular expression of RE2 (https://github.com/google/re2/wiki/Syntax), searched for in the
  whole URL. RE2 takes linear time, whatever the expression.

A glob matches the whole text, with regard to case; ``*`` stands for any characters with ``/``, ``?`` for one, ``[ab]``
for one of these.
"""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import cache
from typing import Final, NamedTuple
from urllib.parse import quote

from msgspec import Struct

from crawler.model import DiscoveredBy, DocumentKind, State, Url, Verdict
from crawler.url.actions import linked_action_in
from crawler.url.normalize import (
    MAX_FETCHED_LENGTH,
    InvalidUrl,
    host_of,
    normalize_url,
    origin_of,
    path_and_query,
    path_of,
)

_CLOUDFLARE: Final = "/cdn-cgi/"  # https://developers.cloudflare.com/fundamentals/reference/cdn-cgi-endpoint/
_stray_percent = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_beyond_ascii = re.compile(r"[^\x21-\x7e]+")


class ScopeError(ValueError):
    """A bad setting of the scope. The message names it and the remedy."""


class UrlPattern:
    """One pattern; ``text`` is as it was written."""

    __slots__ = ("_match", "_on_path", "text")
    _match: Callable[[str], object]

    def __init__(self, text: str) -> None:
        """Raises ScopeError for a regular expression that does not compile and a glob that can match no URL."""
        self.text = text
        self._on_path = text.startswith("/")
        if text.startswith("re:"):
            self._match = _linear_search(text)
        elif text[:1] in ("/", "*", "?", "[") or text.startswith(("http://", "https://")):
            ascii_only = _beyond_ascii.sub(lambda match: quote(match[0]), text)
            self._match = re.compile(translate(ascii_only)).match
        else:
            hint = f'Write "*{text}*" for a part of the URL, "/{text}" for a path, "re:{text}" for an expression'
            raise ScopeError(f'"{text}" cannot match any URL. {hint}')

    def matches(self, url: Url) -> bool:
        """Whether a canonical URL matches."""
        return self._match(path_and_query(url) if self._on_path else url) is not None


ECHO: Final = r"/([^/?0-9]+)/([^?]+/)?\1/"
"""The expression for a path that repeats one of its segments, which Siteatlas recommends. RE2 cannot match it."""
_echo = re.compile(r"/([^/?0-9]++)/(?:[^/?]++/)*?\1/").search


def _linear_search(text: str) -> Callable[[str], object]:
    """The search for the regular expression after ``re:``. Raises ScopeError that says what RE2 does not take.

    With look-aheads at its end, all of them must match after the beginning.
    """
    import re2  # noqa: PLC0415 - few scopes need it

    expression = text[3:]
    if expression == ECHO:
        return _echo
    options = re2.Options()
    options.log_errors = False
    start, *aheads = expression.split("(?=")
    is_last = all(ahead.endswith(")") for ahead in aheads)
    wholes = [f"{start}(?:{ahead[:-1]})" for ahead in aheads] if is_last else []
    why = ""
    for texts in filter(None, ([expression], wholes)):
        try:
            found = tuple(re2.compile(each, options).search for each in texts)
        except re2.error as error:
            why = why or error.args[0].decode(errors="replace")
        else:
            return lambda url, found=found: all(search(url) for search in found) or None  # type: ignore[misc]
    try:
        re.compile(expression)
    except re.error as error:
        position = "" if error.pos is None else f" at position {error.pos + 3}"
        raise ScopeError(f'"{text}" is not a regular expression: {error.msg}{position}') from None
    raise ScopeError(
        f'"{text}" is not a regular expression of RE2, which takes linear time: {why}. Write it without look-around, '
        "back-references, possessive quantifiers and more than 1,000 repetitions"
    )


def compile_patterns(name: str, texts: tuple[str, ...]) -> tuple[UrlPattern, ...]:
    """The patterns of one setting. Raises ScopeError that names the setting, the pattern and its fault."""
    patterns = []
    for text in texts:
        try:
            patterns.append(UrlPattern(text))
        except ScopeError as error:
            raise ScopeError(f"{name}: {error}") from None
    return tuple(patterns)


MAX_LISTED_LENGTH: Final = 2_047
"""Characters of the longest URL in a sitemap: "less than 2,048" (https://www.sitemaps.org/protocol.html#locdef)."""

WHERE_SITEMAP_IS: Final = ", where the sitemap is"
"""The end of the reason by the location rule."""
MIN_LISTED_LENGTH: Final = 12  # the schema's tLoc, minLength
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


class CrawlBounds(Struct, frozen=True):
    """Bounds of depth, path and hosts, for crawler traps.

    ``max_depth`` counts clicks from the start URL. A path with more than ``max_segments`` segments, or that repeats one
    segment, or a sequence of them, more than ``max_repeats`` times in a row, is a trap. ``max_hosts`` limits the hosts
    besides the sitemap's own: a DNS wildcard makes any number of subdomains. With ``ask_all``, URLs that may change
    something are requested.
    """

    max_depth: int | None = None
    max_segments: int = 32
    max_repeats: int = 3
    max_hosts: int = 1_000
    ask_all: bool = False


class _NamedHost(NamedTuple):
    name: str
    port: str  # "" for the default ports of both schemes
    is_domain: bool  # includes its subdomains


class Scope:
    """Decides whether a URL is crawled (:meth:`admit`) and whether the sitemap may list it (:meth:`may_list`).

    ``include`` and ``exclude`` are the patterns that this module describes. Raises :class:`ScopeError` for a pattern
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
        path = path_of(sitemap_url)
        self.origin = origin_of(sitemap_url)
        self.directory = self.origin + path[: path.rfind("/") + 1]
        self.bounds = bounds
        self._include = compile_patterns("include", include)
        self._exclude = compile_patterns("exclude", exclude)
        self._subdomains = subdomains
        self._named = tuple(_named_host(text) for text in hosts)
        self._origins: dict[str, str] = {self.origin: "own"}
        self._crawled: set[str] = set()  # other origins that are crawled
        self.note = ""
        """One sentence when a URL was refused for the limit of hosts."""

    def admit(self, url: Url, depth: int, found: int, kind: DocumentKind = DocumentKind.PAGE) -> Verdict | None:
        """None when the URL is crawled, else the verdict with the rule that refuses it.

        A seed needs a host of the scope only: patterns, directory and depth apply to the URLs found from it. A sitemap
        file needs a host of the scope only, with either scheme; its entries are admitted one by one.
        """
        if len(url) > MAX_FETCHED_LENGTH:
            reason = f"{len(url):,} characters long; the limit for fetching is {MAX_FETCHED_LENGTH:,}"
            return Verdict(State.TOO_LONG, reason)
        if kind is DocumentKind.SITEMAP:
            is_ours = host_of(url) == host_of(Url(self.directory)) or self._relation(url) != ""
            return None if is_ours else self._foreign(url)
        relation = self._relation(url)
        if not relation:
            return self._foreign(url)
        if found & DiscoveredBy.SEED:
            return None
        if relation != "own" and self._is_one_host_more(url):
            return Verdict(State.OUT_OF_SCOPE, f"more than {self.bounds.max_hosts:,} hosts (scope.max_hosts)")
        if relation == "own" and not url.startswith(self.directory):
            return Verdict(State.OUT_OF_SCOPE, f"outside {self.directory}{WHERE_SITEMAP_IS}")
        return self._refused_by_pattern(url) or self._refused_by_bound(url, depth, found)

    def may_list(self, url: Url) -> Verdict | None:
        """None when the sitemap may list the URL, else the verdict with the reason."""
        if len(url) > MAX_LISTED_LENGTH:
            reason = f"{len(url):,} characters long; the limit in a sitemap is {MAX_LISTED_LENGTH:,}"
            return Verdict(State.TOO_LONG, reason)
        if len(url) < MIN_LISTED_LENGTH:
            return Verdict(State.OUT_OF_SCOPE, f"the sitemap schema requires at least {MIN_LISTED_LENGTH} characters")
        if "%" in url and _stray_percent(url):
            reason = "a sitemap cannot list a URL with a % that begins no escape (RFC 3986). Link to it with %25"
            return Verdict(State.OUT_OF_SCOPE, reason)
        relation = self._relation(url)
        if relation == "subdomain":
            reason = f"{origin_of(url)} is crawled for its links; a sitemap in {self.directory} cannot list it"
            return Verdict(State.OUT_OF_SCOPE, f"{reason} unless you add the host with --host")
        if not relation:
            return self._foreign(url)
        if relation == "own" and not url.startswith(self.directory):
            return Verdict(State.OUT_OF_SCOPE, f"outside {self.directory}{WHERE_SITEMAP_IS}")
        return self._refused_by_pattern(url)

    def needs_cross_submit(self, url: Url) -> bool:
        """Whether the robots.txt of the URL's host must name the sitemap for search engines to accept the URL."""
        return self._relation(url) == "named"

    def _foreign(self, url: Url) -> Verdict:
        if host_of(url) == host_of(Url(self.directory)):
            return Verdict(State.OUT_OF_SCOPE, f"another scheme or port: {origin_of(url)} is not {self.origin}")
        return Verdict(State.OUT_OF_SCOPE, f"another host: {host_of(url)}")

    def _relation(self, url: Url) -> str:
        """How the origin of a URL belongs to the scope: "own", "named", "subdomain" or "" for foreign."""
        origin = origin_of(url)
        if origin == self.origin:
            return "own"
        if not self.is_widened:
            return ""
        relation = self._origins.get(origin)
        if relation is None:
            relation = self._judge_origin(url)
            if len(self._origins) < 10_000:
                self._origins[origin] = relation
        return relation

    @property
    def is_widened(self) -> bool:
        """Whether other hosts than the sitemap's may be crawled."""
        return self._subdomains or bool(self._named)

    def count_hosts(self, origins: Iterable[str]) -> None:
        """Count the other hosts that a run crawled before it was interrupted, for ``max_hosts``."""
        self._crawled.update(
            origin for origin in origins if self._relation(Url(f"{origin}/")) in ("named", "subdomain")
        )

    def _is_one_host_more(self, url: Url) -> bool:
        origin = origin_of(url)
        if origin not in self._crawled:
            if len(self._crawled) >= self.bounds.max_hosts:
                self.note = f"only {self.bounds.max_hosts:,} more hosts are crawled; raise scope.max_hosts to crawl all"
                return True
            self._crawled.add(origin)
        return False

    def _judge_origin(self, url: Url) -> str:
        name, (scheme, port) = host_of(url), _scheme_and_port(url)
        for named in self._named:
            is_open = port == named.port or (not named.port and port == _DEFAULT_PORTS[scheme])
            if is_open and (name == named.name or (named.is_domain and name.endswith(f".{named.name}"))):
                return "named"
        if self._subdomains and (scheme, port) == _scheme_and_port(Url(self.directory)):
            domain = registrable_domain(host_of(Url(self.directory)))
            return "subdomain" if domain and (name == domain or name.endswith(f".{domain}")) else ""
        return ""

    def _refused_by_pattern(self, url: Url) -> Verdict | None:
        if url.startswith(_CLOUDFLARE, url.index("/", 8)):
            return Verdict(State.ACTION, f"{_CLOUDFLARE} belongs to Cloudflare, which adds such links to pages")
        for pattern in self._exclude:
            if pattern.matches(url):
                return Verdict(State.EXCLUDED, f'matches exclude "{pattern.text}"')
        if self._include and not any(pattern.matches(url) for pattern in self._include):
            shown = ", ".join(f'"{pattern.text}"' for pattern in self._include[:3])
            more = f" and {len(self._include) - 3} more" if len(self._include) > 3 else ""
            return Verdict(State.EXCLUDED, f"matches no include pattern ({shown}{more})")
        return None

    def _refused_by_bound(self, url: Url, depth: int, found: int) -> Verdict | None:
        if trap := why_path_is_trap(path_of(url), self.bounds):
            return Verdict(State.TRAP, trap)
        is_listed = found & (DiscoveredBy.SITEMAP | DiscoveredBy.PREVIOUS_RUN)
        if not (self.bounds.ask_all or is_listed) and (action := linked_action_in(url, self.directory)):
            return Verdict(
                State.ACTION, f'"{action}" may change something on the site (--set scope.ask_all=true requests it)'
            )
        if self.bounds.max_depth is not None and depth > self.bounds.max_depth:
            return Verdict(State.TOO_DEEP, f"{depth} clicks from the start; the limit is {self.bounds.max_depth}")
        if found == DiscoveredBy.NOFOLLOW:
            return Verdict(State.NOFOLLOW, "only nofollow links lead to it")
        return None


def why_path_is_trap(path: str, bounds: CrawlBounds) -> str:
    """Why a path looks like a crawler trap, in a sentence, or "". ``bounds.max_segments`` limits the cost."""
    segments = path.split("/")[1:]
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
    # The import takes a tenth of a second, and few crawls need it.
    from tldextract import TLDExtract  # noqa: PLC0415

    extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    return extract(name).top_domain_under_public_suffix


def _named_host(text: str) -> _NamedHost:
    bare = text.removeprefix("*.")
    try:
        url = normalize_url(bare if "://" in bare else f"http://{bare}")
    except InvalidUrl as error:
        raise ScopeError(
            f'hosts: "{text}" is not a host name. Write it as in www.example.org or example.org:8443'
        ) from error
    scheme, port = _scheme_and_port(url)
    name = host_of(url)
    is_domain = bare != text or registrable_domain(name) == name
    return _NamedHost(name, "" if port == _DEFAULT_PORTS[scheme] else port, is_domain)


def _scheme_and_port(url: Url) -> tuple[str, str]:
    origin = origin_of(url)
    scheme, port = origin.partition(":")[0], origin.rpartition(":")[2]
    return scheme, port if port.isdigit() else _DEFAULT_PORTS[scheme]


def alias_origins(start: Url) -> list[str]:
    """The other origins that usually lead to the same site as ``start``: http or https, with or without www."""
    own = origin_of(start)
    port = own[own.index("://") + 3 + len(host_of(start)) :]
    bare = host_of(start).removeprefix("www.")
    origins = (f"{scheme}://{www}{bare}{port}" for scheme in ("https", "http") for www in ("", "www."))
    return [origin for origin in origins if origin != own]
