"""The plan of a crawl: a configuration whose words have become values, and what each part is told of it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from crawler.config import source as sources
from crawler.config.config import Config
from crawler.config.source import SiteSource
from crawler.errors import UsageError
from crawler.model import DiscoveredBy, Url
from crawler.state.store import state_directory
from crawler.url.normalize import InvalidUrl, normalize_url
from crawler.url.params import UrlParams
from crawler.url.patterns import ScopeError
from crawler.url.scope import CrawlBounds, Scope

AUDIT: Final = "audit"  # the directory in that of a site where its audits are remembered


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """What is crawled from where, what its sitemap will cover, and where things go."""

    config: Config
    seed: Url
    sitemap_url: Url
    scope: Scope
    output: Path
    state: Path
    source: SiteSource | None = None

    @property
    def params(self) -> UrlParams:
        """What URLs are made with."""
        urls, mirror = self.config.urls, self.source.mirror if self.source else None
        return UrlParams(urls.drop_params, urls.keep_params, mirror)

    @property
    def about(self) -> dict[str, str]:
        """What a state says of whose it is, and what its requests carry: of secrets no more than their names."""
        fetch = self.config.fetch
        requests = {
            "fetch.headers": sorted(name.lower() for name in fetch.headers),
            "fetch.cookies": sorted(fetch.cookies),
            "fetch.basic_auth": bool(fetch.basic_auth),
            "server": sources.server_key(self.config, self.seed),
        }
        return {
            "url": self.seed,
            "sitemap_url": self.sitemap_url,
            "user_agent": fetch.user_agent,
            "requests": msgspec.json.encode(
                {key: value for key, value in requests.items() if value}
            ).decode(),
        }

    @property
    def processes(self) -> int:
        """How many parser processes there are."""
        return self.config.parse.processes or min(4, os.cpu_count() or 1)


def plan_scope(config: Config) -> tuple[Url, Url, Scope]:
    """Where a crawl begins, where its sitemap lives, and what it covers. Raises UsageError."""
    params = UrlParams(config.urls.drop_params, config.urls.keep_params)
    seed = parse_url_setting(config.site.url, "the start URL", params)
    given = config.site.sitemap_url
    sitemap_url = parse_url_setting(given, "--sitemap-url", params) if given else _default_sitemap_url(seed)
    section = config.scope
    bounds = CrawlBounds(section.max_depth, section.max_segments, section.max_repeats)
    try:
        scope = Scope(
            sitemap_url, section.include, section.exclude, bounds, section.subdomains, section.hosts
        )
    except ScopeError as error:
        raise UsageError(str(error)) from None
    return seed, sitemap_url, scope


def plan_crawl(config: Config) -> CrawlPlan:
    """Check everything that can be checked before a request is sent. Raises UsageError."""
    seed, sitemap_url, scope = _checked_scope(config)
    if not config.output.directory:
        raise UsageError("say where the sitemap goes: -o DIR")
    output, root = Path(config.output.directory), Path(config.state.directory)
    if root.absolute().resolve().is_relative_to(output.absolute().resolve()):
        raise UsageError(
            f"the state ({root}) must not lie in the published directory ({output}): use --state DIR"
        )
    found = sources.read_source(config, seed)
    return CrawlPlan(config, seed, sitemap_url, scope, output, state_directory(root, sitemap_url), found)


def plan_audit(config: Config) -> CrawlPlan:
    """The same for an audit, which publishes nothing, has a state of its own, and follows no sitemaps.

    Raises UsageError.
    """
    if not config.site.url:
        raise UsageError("the start URL is missing: siteatlas audit https://example.com/")
    config = config.model_copy(update={"scope": config.scope.model_copy(update={"sitemap_seeds": False})})
    seed, sitemap_url, scope = _checked_scope(config)
    state = state_directory(Path(config.state.directory), sitemap_url) / AUDIT
    return CrawlPlan(config, seed, sitemap_url, scope, Path(), state, sources.read_source(config, seed))


def _checked_scope(config: Config) -> tuple[Url, Url, Scope]:
    seed, sitemap_url, scope = plan_scope(config)
    if refused := scope.admit(seed, 0, DiscoveredBy.SEED):
        raise UsageError(f"the start URL {seed} cannot be crawled: {refused.reason}")
    if not sitemap_url.partition("?")[0].rpartition("/")[2]:
        raise UsageError(
            f"--sitemap-url {sitemap_url} names a directory; it wants the file: {sitemap_url}sitemap.xml"
        )
    return seed, sitemap_url, scope


def result_settings(config: Config) -> dict[str, object]:
    """The settings that decide what a crawl finds. Pace, limits of a run and output may change while it is resumed."""
    scope = config.scope.model_dump(mode="json", exclude={"max_pages", "max_time"})
    sections = {"site": config.site, "urls": config.urls, "obey": config.obey, "content": config.content}
    dumped = {name: section.model_dump(mode="json") for name, section in sections.items()} | {"scope": scope}
    settings = {f"{name}.{key}": value for name, section in dumped.items() for key, value in section.items()}
    return settings | {"fetch.source": config.fetch.source}


def parse_url_setting(text: str, what: str, params: UrlParams) -> Url:
    """A URL that a person gave, in canonical form; ``what`` names it in the UsageError for one that cannot be used."""
    if not text:
        raise UsageError(f"{what} is missing: siteatlas crawl https://example.com/ -o DIR")
    try:
        url = normalize_url(text, params)
    except InvalidUrl as error:
        if "@" in text:  # perhaps a password; the error masks it
            raise UsageError(f"{what} cannot be used: {error}") from None
        hint = "" if "://" in text else f"; did you mean https://{text}?"
        raise UsageError(f'{what} "{text}" cannot be used: {error}{hint}') from None
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise UsageError(
            f"{what} carries a user name or password, which is not used: give them with --basic-auth"
        )
    return url


def _default_sitemap_url(seed: Url) -> Url:
    """The sitemap's URL when none is given: in the directory of the start URL."""
    return Url(seed.partition("?")[0].rpartition("/")[0] + "/sitemap.xml")
