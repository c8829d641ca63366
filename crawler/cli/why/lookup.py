"""Opens the states of sites read-only, finds the site of each URL, and explains the URL as text or JSON."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
from msgspec.structs import replace

from crawler.audit.compare.history import StoredFinding, stored_findings
from crawler.audit.evidence.by_url import UrlEvidence
from crawler.audit.evidence.store import EVIDENCE
from crawler.audit.report.layout import Line
from crawler.audit.rules import REPORTED_RULES
from crawler.cli.options import given_layers
from crawler.cli.sites import find_states
from crawler.cli.why.explain import Explanation, explain
from crawler.cli.why.rules import CrawlRules, readings_topic
from crawler.cli.why.story import UrlStories
from crawler.cli.why.suggestions import nearest_urls, other_spellings
from crawler.config.config import Config
from crawler.config.load import override
from crawler.config.plan import AUDIT, plan_audit, plan_scope
from crawler.config.settings import known_keys
from crawler.config.source import read_source
from crawler.config.start import lacks_scheme
from crawler.errors import StorageError, UsageError, single_error
from crawler.model import Url
from crawler.render.renderer import known_templates
from crawler.render.templates import TemplateRecord
from crawler.robots.cache import RobotsStore
from crawler.robots.rules import RobotsAccess
from crawler.run.options import loop_options
from crawler.state.schema import STATE_DB
from crawler.url.normalize import InvalidUrl, join_url, normalize_url, origin_of
from crawler.url.params import UrlParams
from crawler.url.scope import Scope
from sitemap import safe

_MAX_NAMED: Final = 5  # sites in a message


@dataclass(frozen=True, slots=True)
class KnownSite:
    """A site with a state: its directory, its configuration and its scope."""

    directory: Path
    config: Config
    start: Url
    scope: Scope
    params: UrlParams
    stories: UrlStories
    robots: RobotsStore
    db: sqlite3.Connection

    def url(self, text: str) -> Url:
        """The canonical form of a URL, or of a path of this site. Raises InvalidUrl."""
        if "://" not in text and "@" not in text:
            path = join_url(self.start, f"/{text.removeprefix('/')}", self.params)
            if text.startswith("/") or self.db.execute("SELECT 1 FROM url WHERE url = ?", (path,)).fetchone():
                return path
        return normalize_url(f"{self.start.partition(':')[0]}://{text}" if lacks_scheme(text) else text, self.params)

    def templates(self) -> dict[str, TemplateRecord]:
        """What the runs decided for each template: see :mod:`crawler.render.templates`. Raises StorageError."""
        return known_templates(self.db)

    @property
    def _audit(self) -> Path:
        """The directory of the audits of the site, which may be this one."""
        below = self.directory / AUDIT
        return below if STATE_DB.is_in(below) else self.directory

    def sources(self, url: Url) -> list[str]:
        """What the sources of the last finished audit say about a URL."""
        try:
            with EVIDENCE.reading(self._audit) as db:
                row = db.execute("SELECT id FROM home WHERE url = ?", (url,)).fetchone()
                return UrlEvidence(db).sentences(row[0], url)[0] if row else []
        except (StorageError, UsageError):  # missing, or being replaced by another audit
            return []

    def findings(self, url: str) -> list[str]:
        """The findings of the last finished audit about a URL, in sentences."""
        try:
            return [_finding_text(finding) for finding in stored_findings(self._audit, url)]
        except (StorageError, UsageError):  # the next audit reports the fault
            return []

    def policy(self, url: Url) -> CrawlRules:
        """The rules of a crawl of the site for a URL."""
        obey, agent = self.config.obey, self.config.fetch.user_agent
        stored = self.robots.get(origin_of(url))
        policy = CrawlRules(
            self.scope,
            self.start,
            obey_robots=obey.robots,
            obey_noindex=obey.noindex,
            obey_engine_noindex=obey.noindex and obey.engine_noindex,
            obey_canonical=obey.canonical,
        )
        if stored is None:
            return policy
        rules = stored.current(stored.last_readable(agent))
        return replace(
            policy,
            robots=rules,
            robots_at=stored.fetched_at,
            robots_said=stored.meaning,
            is_robots_copy=rules.access is RobotsAccess.RULES and stored.copy_at != stored.fetched_at,
        )


@contextmanager
def known_sites(file: Path | None, flags: Mapping[str, Any], names: Sequence[str]) -> Iterator[list[KnownSite]]:
    """Open the sites of a configuration, or without one all in the state directory. At least one.

    Raises UsageError, StorageError.
    """
    with ExitStack() as stack:
        sites, faults = [], []
        for directory, config in _state_directories(file, flags, names):
            try:
                db = stack.enter_context(STATE_DB.reading(directory))
                sites.append(_known_site(directory, db, config or _stored_config(db, directory, flags)))
            except UsageError as error:
                faults.append(error)
        if not sites:
            raise faults[0]
        yield sites


def _state_directories(
    file: Path | None, flags: Mapping[str, Any], names: Sequence[str]
) -> list[tuple[Path, Config | None]]:
    """The directories of states: those of runs, and then those of audits, which know other URLs."""
    states = [(directory, config) for _, directory, config in find_states(file, flags, names)]
    audits = [(directory / AUDIT, config) for directory, config in states]
    return states + [audit for audit in audits if STATE_DB.is_in(audit[0])]


def site_for_url(text: str, sites: Sequence[KnownSite]) -> KnownSite:
    """The site of a URL: the one whose sitemap may list it, else one that has found it.

    Of a site and its audit it is the first that has found the URL, else the site. Raises UsageError when none of
    several sites covers the URL, or several know a path.
    """
    if len({site.start for site in sites}) == 1:
        return next((site for site in sites if _has_url(site, text)), sites[0])
    ranked = []
    for number, site in enumerate(sites):
        try:
            url = site.url(text)
        except InvalidUrl:
            continue
        covers = len(site.scope.directory) if url.startswith(site.scope.directory) else 0
        if (covers and not text.startswith("/")) or site.stories.knows(url):
            ranked.append((covers, site.stories.knows(url), -number, site))
    if text.startswith("/") and len(directories := {item[3].scope.directory for item in ranked}) > 1:
        raise UsageError(
            f"several sites have the path {text} ({', '.join(sorted(directories))}). Write the whole URL, or choose a "
            f"site with --config or --state"
        )
    if ranked:
        return max(ranked, key=lambda item: item[:3])[3]
    shown = ", ".join(site.scope.directory for site in sites[:_MAX_NAMED])
    more = f" and {len(sites) - _MAX_NAMED} more" if len(sites) > _MAX_NAMED else ""
    raise UsageError(
        f"{text!a} belongs to none of the crawled sites {shown}{more}. Give the configuration of the site with --config"
    )


def _has_url(site: KnownSite, text: str) -> bool:
    try:
        return site.stories.knows(site.url(text))
    except InvalidUrl:
        return False


def _known_site(directory: Path, db: sqlite3.Connection, config: Config) -> KnownSite:
    start, _, scope = plan_scope(config)
    return KnownSite(directory, config, start, scope, _url_params(config, start), UrlStories(db), RobotsStore(db), db)


def _url_params(config: Config, start: Url) -> UrlParams:
    """The parameters that normalize URLs; they map those of a staging server to public ones."""
    try:
        read_from = read_source(config, start)
    except UsageError:  # the source is gone, the state is not
        read_from = None
    return UrlParams(config.urls.drop_params, config.urls.keep_params, read_from.mirror if read_from else None)


def _stored_config(db: sqlite3.Connection, directory: Path, flags: Mapping[str, Any]) -> Config:
    """The settings of the last run that decide what a crawl finds, overridden by the flags."""
    about = UrlStories(db).about()
    if "settings" not in about:
        raise UsageError(
            f"the state in {directory} does not yet contain the settings of its site. Give the site's "
            "configuration with --config"
        )
    sections = known_keys()
    tables: dict[str, Any] = {}
    for name, value in msgspec.json.decode(about["settings"]).items():
        section, _, key = name.partition(".")
        if key in sections.get(section, ()):
            tables.setdefault(section, {})[key] = value
    if agent := about.get("user_agent"):
        tables.setdefault("fetch", {})["user_agent"] = agent
    return override(tables, None, given_layers(flags))


def _finding_text(finding: StoredFinding) -> str:
    title = REPORTED_RULES[finding.rule].title if finding.rule in REPORTED_RULES else finding.rule
    doubt = "" if finding.is_certain else ", inconclusive"
    text = f"{title} ({finding.rule}{doubt}), found since {finding.since}"
    undecided = "the last audit did not find it again, but could not decide whether it is resolved"
    return f"{text}; {undecided}" if finding.is_inconclusive else text


_TITLE_WIDTH: Final = 11  # columns of the names of topics
_TITLES: Final = {"leads_to": "leads to", "near": "similar", "would": "if found"}


def explain_urls(
    urls: Sequence[str], file: Path | None, flags: Mapping[str, Any], sites: Sequence[str], *, render: bool = False
) -> list[Explanation]:
    """The story of each URL. ``render`` requests it now, and reads it both ways. Raises UsageError, StorageError."""
    with known_sites(file, flags, sites) as known:
        chosen = [(text, site_for_url(text, known)) for text in urls]
        return [_with_readings(_story(*pair), pair[1]) if render else _story(*pair) for pair in chosen]


def story_lines(stories: Sequence[Explanation]) -> Iterator[str | Line]:
    """The stories as lines of text, with an empty line between them. Text from the web is escaped."""
    for number, story in enumerate(stories):
        if number:
            yield ""
        yield safe(story.story.url)
        yield f"  {safe(story.summary)}"
        yield ""
        for topic in story.topics:
            title = _TITLES.get(topic.name, topic.name)
            for line in topic.lines:
                yield Line(f"{title:<{_TITLE_WIDTH}}", safe(line))
                title = ""


def _story(text: str, site: KnownSite) -> Explanation:
    try:
        url = site.url(text)
    except InvalidUrl as error:
        hint = f". Did you mean https://{text}?" if error.code == "url.invalid" and "://" not in text else ""
        raise UsageError(f"{error.message}{hint}") from None
    _, mark, part = text.partition("#")
    story = replace(
        site.stories.story(url),
        link_facts=site.stories.link_facts(url),
        sources=site.sources(url),
        findings=[found for each in dict.fromkeys((url, url + mark + part)) for found in site.findings(each)],
    )
    near = [] if story.is_known else _near_urls(url, site)
    return explain(text, story, site.policy(url), near)


def _with_readings(story: Explanation, site: KnownSite) -> Explanation:
    """The story with both readings of the page, after the topics that no request is needed for."""
    from crawler.crawl.render_comparison import read_both_ways  # noqa: PLC0415 - only --render fetches

    plan, known = plan_audit(site.config), site.templates()
    try:
        readings = anyio.run(read_both_ways, plan, Url(story.story.url), known, backend_options=loop_options())
    except ExceptionGroup as group:
        raise single_error(group) from None
    return replace(story, topics=[*story.topics, readings_topic(readings)])


def _near_urls(url: Url, site: KnownSite) -> list[tuple[Url, str]]:
    spelled = other_spellings(url)
    known = site.stories.spelled([url, *spelled])
    return nearest_urls(url, spelled, known, [] if known else site.stories.neighbours(url))
