"""The plan of a crawl: the checked values of a configuration."""

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from crawler.config import source as sources
from crawler.config.config import Config
from crawler.config.source import SiteSource
from crawler.config.start import followed_start, given_starts, lacks_scheme, parse_url_setting
from crawler.errors import UsageError
from crawler.model import DiscoveredBy, Url
from crawler.url.normalize import origin_of
from crawler.url.params import UrlParams
from crawler.url.scope import CrawlBounds, Scope, ScopeError

AUDIT: Final = "audit"  # the directory of the audit in the state of a site


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """The seed, the scope, and the directories of sitemap and state.

    ``given`` are the start URLs that a person named: the seed, or URLs that redirect to it. ``moved_from`` are those of
    them that redirected in this run. ``is_guessed``: the person named no scheme, so https is a guess.
    """

    config: Config
    seed: Url
    sitemap_url: Url
    scope: Scope
    output: Path
    state: Path
    source: SiteSource | None = None
    given: tuple[Url, ...] = ()
    moved_from: tuple[Url, ...] = ()
    is_guessed: bool = False

    @property
    def params(self) -> UrlParams:
        """How URLs are normalized."""
        urls, mirror = self.config.urls, self.source.mirror if self.source else None
        return UrlParams(urls.drop_params, urls.keep_params, mirror)

    @property
    def is_of_folder(self) -> bool:
        """Whether the pages are files of a folder: no server responds, and a request again brings nothing else."""
        return self.source is not None and self.source.folder is not None

    @property
    def named_origins(self) -> list[str]:
        """The origins that a person named: only these may be at a private address without further options."""
        return list(dict.fromkeys(map(origin_of, self.given or (self.seed,))))

    def moved_to(self, target: Url) -> "CrawlPlan":
        """The plan of the same crawl from another start URL, to which this one redirects. Raises UsageError."""
        site = self.config.site.model_copy(update={"url": target})
        config = self.config.model_copy(update={"site": site})
        return replace(plan_crawl(config), given=self.given, moved_from=(*self.moved_from, self.seed))

    @property
    def about(self) -> dict[str, str]:
        """The entries that a state keeps about its site and its requests; of secrets the names only."""
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
            "requests": msgspec.json.encode({key: value for key, value in requests.items() if value}).decode(),
        }

    @property
    def processes(self) -> int:
        """The number of parser processes."""
        return self.config.parse.processes or min(4, os.cpu_count() or 1)


def plan_scope(config: Config) -> tuple[Url, Url, Scope]:
    """The seed, the URL of the sitemap, and the scope. Raises UsageError."""
    params = UrlParams(config.urls.drop_params, config.urls.keep_params)
    seed = followed_start(config)
    text = config.site.sitemap_url
    sitemap_url = parse_url_setting(text, "--sitemap-url", params) if text else _default_sitemap_url(seed)
    section = config.scope
    bounds = msgspec.convert(section, CrawlBounds, from_attributes=True)  # each bound is the key of its name
    try:
        scope = Scope(sitemap_url, section.include, section.exclude, bounds, section.subdomains, section.hosts)
    except ScopeError as error:
        raise UsageError(str(error)) from None
    return seed, sitemap_url, scope


def plan_crawl(config: Config) -> CrawlPlan:
    """The plan of a run, checked as far as possible without a request. Raises UsageError."""
    seed, sitemap_url, scope = _checked_scope(config)
    if not config.output.directory:
        raise UsageError("no directory is given for the sitemap. Add -o DIR, or set directory in [output]")
    output, root = Path(config.output.directory), Path(config.state.directory)
    if root.absolute().resolve().is_relative_to(output.absolute().resolve()):
        raise UsageError(
            f"the state directory ({root}) must not be inside the published directory ({output}). Choose another "
            "one with --state DIR"
        )
    source = sources.read_source(config, seed)
    return _with_start(CrawlPlan(config, seed, sitemap_url, scope, output, state_directory(root, sitemap_url), source))


def plan_audit(config: Config) -> CrawlPlan:
    """The plan of an audit, which publishes nothing, has its own state, and follows no sitemaps.

    Raises UsageError.
    """
    if not config.site.url:
        raise UsageError("no start URL is given. Use siteatlas audit https://example.com/")
    config = config.model_copy(update={"scope": config.scope.model_copy(update={"sitemap_seeds": False})})
    seed, sitemap_url, scope = _checked_scope(config)
    state = state_directory(Path(config.state.directory), sitemap_url) / AUDIT
    return _with_start(CrawlPlan(config, seed, sitemap_url, scope, Path(), state, sources.read_source(config, seed)))


def _with_start(plan: CrawlPlan) -> CrawlPlan:
    """The plan with the start URL in its configuration, if the person wrote another one."""
    config, text = plan.config, plan.config.site.url
    given, is_guessed = given_starts(config, plan.seed), lacks_scheme(text)
    if plan.seed != given[0]:
        config = config.model_copy(update={"site": config.site.model_copy(update={"url": plan.seed})})
    return replace(plan, config=config, given=given, is_guessed=is_guessed)


def _checked_scope(config: Config) -> tuple[Url, Url, Scope]:
    seed, sitemap_url, scope = plan_scope(config)
    if refused := scope.admit(seed, 0, DiscoveredBy.SEED):
        raise UsageError(f"the start URL {seed} cannot be crawled: {refused.reason}")
    if not sitemap_url.partition("?")[0].rpartition("/")[2]:
        raise UsageError(
            f"--sitemap-url {sitemap_url} is the URL of a directory. Give the URL of a file, such as "
            f"{sitemap_url}sitemap.xml"
        )
    return seed, sitemap_url, scope


def result_settings(config: Config) -> dict[str, object]:
    """The settings that decide the result of a crawl. A resumed run may change pace, limits and output."""
    scope = config.scope.model_dump(mode="json", exclude={"max_pages", "max_time", "max_hosts"})
    sections = {"site": config.site, "urls": config.urls, "obey": config.obey, "content": config.content}
    dumped = {name: section.model_dump(mode="json") for name, section in sections.items()} | {"scope": scope}
    settings = {f"{name}.{key}": value for name, section in dumped.items() for key, value in section.items()}
    return settings | {"fetch.source": config.fetch.source}


def _default_sitemap_url(seed: Url) -> Url:
    """The default URL of the sitemap: in the directory of the start URL."""
    return Url(seed.partition("?")[0].rpartition("/")[0] + "/sitemap.xml")


def state_directory(root: Path, sitemap_url: Url) -> Path:
    """The directory of a site's state: a readable name, distinct for each sitemap."""
    digest = hashlib.blake2b(sitemap_url.encode(), digest_size=4).hexdigest()
    readable = re.sub(r"[^a-z0-9.-]+", "-", sitemap_url.partition("://")[2].rpartition("/")[0].lower()).strip(".-")
    return root / f"{readable[:60] or 'site'}-{digest}"
