"""An audit that did not see all of a site calls no page an orphan: it says what it did not see, and what to do."""

import gc
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, Route, links, scripted

from crawler.audit.rules import RULES, needs_complete
from crawler.cli import app
from crawler.config.load import build_config
from crawler.crawl.assembly import render_remedy

HUB = links("/", "/hub/one", "/hub/two")
LISTED = ("", "hub/", "hub/one", "hub/two", "plain", "lost")


def pages(**changed: Route) -> dict[str, Route]:
    """A home page, a hub with two pages, and a page that only the sitemap knows; with some answers changed."""
    entries = "".join(f"<url><loc>{{url}}{path}</loc></url>" for path in LISTED)
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    routes: dict[str, Route] = {
        "/robots.txt": Answer("User-agent: *\nDisallow:\n", headers={"Content-Type": "text/plain"}),
        "/sitemap.xml": Answer(sitemap, headers={"Content-Type": "application/xml"}),
        "/": links("/hub/", "/plain"),
        "/hub/": HUB,
        "/hub/one": links("/", "/plain"),
        "/hub/two": links("/", "/hub/one"),
        "/plain": links("/"),
        "/lost": links("/"),
    }
    return {**routes, **{f"/{path}": route for path, route in changed.items()}}


def robots(*lines: str) -> Answer:
    """A robots.txt for everybody."""
    return Answer("\n".join(["User-agent: *", *lines, ""]), headers={"Content-Type": "text/plain"})


def log_of(*targets: str) -> None:
    """An access log in which each of these was asked for and had, nine times."""
    when, agent = "10/Oct/2025:13:55:36 +0000", "Mozilla/5.0 Firefox/125.0"
    lines = [f'192.0.2.7 - - [{when}] "GET {each} HTTP/1.1" 200 512 "-" "{agent}"\n' for each in targets] * 9
    Path("access.log").write_text("".join(lines))


@dataclass
class Audited:
    """How an audit ended and what it reported."""

    code: int
    report: dict[str, Any]

    @property
    def doubts(self) -> list[str]:
        doubts: list[str] = self.report["doubts"]
        return doubts

    def open(self) -> set[str]:
        """The rules with inconclusive findings."""
        return {each["rule"] for each in self.report["findings"] if not each["is_certain"]}

    def is_orphan(self, url: str) -> bool:
        """Whether a page is called an orphan for sure."""
        lost = ("orphan.sitemap", f"{url}lost")
        (found,) = (each for each in self.report["findings"] if (each["rule"], each["url"]) == lost)
        return bool(found["is_certain"])


ORPHAN = "orphan.sitemap"
Audit = Callable[..., Audited]


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Audit]:
    """The command in this process, at full speed and without a second try: starting a process takes longer."""
    monkeypatch.chdir(tmp_path)
    threshold = gc.get_threshold()

    def run(url: str, *words: str) -> Audited:
        fast = ("--rate", "0", "--set=fetch.retries=0", "--set=parse.processes=1", "-o", "out", "-q")
        monkeypatch.setattr("sys.argv", ["siteatlas", "audit", url, *fast, *words])
        code = app.run_command_line()
        report = json.loads(Path("out/audit.json").read_bytes())
        for each in report["findings"]:
            if report["doubts"] and each["rule"] in RULES and needs_complete(each["rule"]):
                assert not each["is_certain"], each
        return Audited(code, report)

    yield run
    gc.unfreeze()  # what a command that owns its process may do
    gc.set_threshold(*threshold)


def test_ours_a_whole_crawl_is_conclusive(audit: Audit) -> None:
    harmless = links(
        "/hub/", "/plain", "/dead", "/thanks", "/guide.pdf", "https://elsewhere.example/", "mailto:x@example.com"
    )
    changed: dict[str, Route] = {
        "": harmless,
        "thanks": links("/", head='<meta name="robots" content="noindex">'),
        "guide.pdf": Answer(b"%PDF-1.4", headers={"Content-Type": "application/pdf"}),
    }
    with scripted(pages(**changed)) as site:
        audited = audit(site.url)
        assert (audited.code, audited.doubts, audited.open()) == (0, [], set())
        assert audited.is_orphan(site.url)
        # nobody is told that all is well with what there is none of
        assert set(audited.report["absent"]) == {"media", "hreflang", "render"}


def test_ours_few_inlinks_are_told_of_pages_and_not_of_most_of_a_site(audit: Audit) -> None:
    """One list for each part of a site: every page has one link, and nothing is wrong with any."""
    names = [f"/one/{number}" for number in range(20)]
    with scripted(pages(**{"hub/": links("/plain", *names)}, **{name[1:]: links("/") for name in names})) as site:
        told = audit(site.url).report
        assert not [each for each in told["findings"] if each["rule"] == "reach.few"]
        assert "few inlinks are normal on this site" in told["unchecked"]["reach.few"]
        for name in names:  # most have two now
            site.routes[name] = links("/", *names[1:])
        told = audit(site.url).report
        (few,) = [each["url"] for each in told["findings"] if each["rule"] == "reach.few" and "/one/" in each["url"]]
        assert few == f"{site.url}one/0"


def test_ours_what_nothing_leads_to_raises_no_doubt(
    audit: Audit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It cannot lead another page into the site."""
    noted = Path("urls.txt")
    changed: dict[str, Route] = {
        "robots.txt": robots("Disallow: /private/"),
        "failing": Answer("", 500),
        "secret": Answer("", 401),
    }
    with scripted(pages(**changed)) as site:
        noted.write_text("".join(f"{site.url}{path}\n" for path in ("failing", "secret", "private/page")))
        audited = audit(site.url, "--list", str(noted))
        assert (audited.code, audited.doubts, audited.open()) == (0, [], set())
        assert audited.report["completeness"] == "complete"
        monkeypatch.setattr("sys.argv", ["siteatlas", "why", f"{site.url}failing"])
        app.run_command_line()
        said = capsys.readouterr().out
        assert "complete, audited" in said  # one verdict for one audit
        assert "degraded" not in said


def test_ours_what_says_neither_index_nor_follow_leads_nowhere(audit: Audit) -> None:
    """Histories, forms and results lead to more of their kind for ever: that is not asked for, and raises no doubt."""
    closed = '<meta name="robots" content="noindex,nofollow">'
    changed: dict[str, Route] = {
        "plain": links("/history"),
        "history": links("/history?offset=1", "/form", "/lost", head=closed),
        "form": links("/form?step=2", head=closed),
    }
    with scripted(pages(**changed)) as site:
        audited = audit(site.url)
        assert (audited.code, audited.doubts, audited.open()) == (0, [], set())
        assert "/history" in site.paths
        assert not {"/history?offset=1", "/form"} & set(site.paths)
        assert ("weak.nofollow", f"{site.url}lost") in {
            (each["rule"], each["url"]) for each in audited.report["findings"]
        }


CASES: dict[str, tuple[dict[str, Route], tuple[str, ...], int, str]] = {
    "a failed hub": ({"hub/": Answer("", 500)}, (), 0, "1 URL failed (server error), such as {url}hub/ (answered 500"),
    "a blocked section": (
        {"robots.txt": robots("Disallow: /hub/")},
        (),
        0,
        "1 URL is blocked by robots.txt and was not read, such as {url}hub/ (robots.txt line 2: Disallow: /hub/)",
    ),
    "a hub behind a login": ({"hub/": Answer("", 401)}, (), 0, "1 URL refused the crawl (401, 403), such as {url}hub/"),
    "--max-depth": ({}, ("--set=scope.max_depth=1",), 0, "2 URLs were further from the start than scope.max_depth"),
    "--exclude": ({}, ("--exclude", "/hub/*"), 0, "1 URL was left out by --include or --exclude, such as {url}hub/"),
    "a cut page": (
        {"hub/": HUB + "<!--" + "x" * 20_000 + "-->" + links("/lost")},
        ("--set=fetch.max_body=10K",),
        0,
        "1 URL was read in part only, such as {url}hub/",
    ),
    "a nofollow link not followed": (
        {"plain": '<a rel="nofollow" href="/quiet">quiet</a>', "quiet": links("/lost")},
        ("--max-unlinked", "0"),
        0,
        "1 URL is linked only by nofollow links and was not read, such as {url}quiet",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_ours_what_was_not_seen_makes_orphans_inconclusive(audit: Audit, case: str) -> None:
    changed, words, code, reason = CASES[case]
    with scripted(pages(**changed)) as site:
        audited = audit(site.url, *words)
        (doubt,) = audited.doubts
        assert doubt.startswith(reason.format(url=site.url))
        assert ". " in doubt, "no remedy"
        assert audited.code == code
        if "--max-unlinked" not in words:  # with it the page is not even asked for
            assert not audited.is_orphan(site.url)


def test_ours_a_limit_is_told_and_the_same_command_goes_on(audit: Audit) -> None:
    changed = pages()
    changed["/"] = links("/hub/", "/plain") + '<a rel="nofollow" href="/quiet">quiet</a>'
    changed["/quiet"] = links("/")
    with scripted(changed) as site:
        audited = audit(site.url, "--max-pages", "2")
        (doubt,) = audited.doubts
        assert doubt.startswith("the crawl is not complete: ")
        assert "--max-pages" in doubt
        assert (audited.code, audited.report["completeness"]) == (4, "truncated")
        assert not [
            each for each in audited.report["findings"] if each["rule"] == "orphan.sitemap" and each["is_certain"]
        ]
        audited = audit(site.url)
        assert (audited.code, audited.doubts) == (0, [])
        assert audited.is_orphan(site.url)


def test_ours_a_robots_txt_that_cannot_be_had_hides_a_hub(audit: Audit) -> None:
    changed = pages()
    with scripted({"/robots.txt": Answer("", 500), "/": links("/")}) as hub, scripted(changed) as site:
        changed["/plain"] = links("/", hub.url)
        audited = audit(site.url, "--host", hub.url.removeprefix("http://").rstrip("/"))
        told = f"robots.txt could not be fetched from {hub.url.rstrip('/')}, so no page there was read"
        assert [doubt for doubt in audited.doubts if doubt.startswith(told)]
        assert not audited.is_orphan(site.url)


@pytest.mark.parametrize(
    "changed", [{"robots.txt": robots("Disallow: /hub/")}, {"hub/": Answer("", 403)}], ids=["blocked", "refused"]
)
def test_ours_trust_blocked_takes_it_that_blocked_pages_lead_to_nothing(
    audit: Audit, changed: dict[str, Route]
) -> None:
    with scripted(pages(**changed)) as site:
        audited = audit(site.url, "--set=audit.trust_blocked=true")
        assert (audited.code, audited.doubts) == (0, [])
        assert audited.is_orphan(site.url) if "hub/" in changed else True


@pytest.mark.parametrize("facets", [1, 3])
@pytest.mark.parametrize("refused", [Answer("", 401), None], ids=["login", "robots.txt"])
def test_ours_a_closed_page_is_weighed_like_one_that_failed(audit: Audit, facets: int, refused: Answer | None) -> None:
    """One link to a facet that robots.txt blocks says little about all other pages; more than 3 % are too many."""
    shop = {f"shop/{n}": links("/", "/shop/") for n in range(60)}
    closed = [f"shop/?color={n}" for n in range(facets)]
    changed: dict[str, Route] = {
        **shop,
        "": links("/hub/", "/plain", "/shop/"),
        "shop/": links("/", *(f"/{name}" for name in (*shop, *closed))),
        "shop/secret": links("/", "/hub/two", "/plain"),
        **(dict.fromkeys(closed, refused) if refused else {"robots.txt": robots("Disallow: /*?color=")}),
    }
    log_of("/shop/secret", "/plain")
    with scripted(pages(**changed)) as site:
        audited = audit(site.url, "--log", "access.log")
        grades = {each["url"]: each["certainty"] for each in audited.report["findings"] if each["rule"] != "reach.few"}
        assert grades[f"{site.url}lost"] == ("likely" if facets == 1 else "inconclusive")
        assert grades[f"{site.url}shop/secret"] == "inconclusive"  # a page below the facet's: it may list it
        audited = audit(site.url, "--set=audit.trust_blocked=true")
        assert audited.is_orphan(site.url)
        (note,) = [note for note in audited.report["notes"] if "audit.trust_blocked is set" in note]
        assert note.startswith(f"{facets} URL")


def test_ours_a_site_made_by_scripts_is_not_full_of_orphans(audit: Audit) -> None:
    shell = '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'
    with scripted(pages(**{"": shell})) as site:
        audited = audit(site.url)
        (doubt,) = audited.doubts
        assert "JavaScript" in doubt
        assert [each for each in audited.report["findings"] if each["rule"] == "orphan.island"]


@pytest.mark.parametrize("start", ["plain", "noindex", "moved"])
def test_ours_a_site_made_by_scripts_that_links_a_page_or_two_is_not_full_of_orphans(audit: Audit, start: str) -> None:
    """What links for those without scripts, such as an imprint, leads to is not the site."""
    head = '<meta name="robots" content="noindex">' if start == "noindex" else ""
    shell = f"""<!doctype html><title>Our shop, with a long title</title>{head}<style>{"p {color: red}" * 50}</style>
      <noscript>{"You need to enable JavaScript to run this app. " * 9}<a href="/plain">about us</a></noscript>
      <div id="root">Loading …</div><script src="/app.js"></script><script>{"let state = 1;" * 99}</script>"""
    changed: dict[str, Route] = {"": shell, "plain": "<p>Who we are</p>"}
    if start == "moved":
        changed = {"": Answer("", 302, {"Location": "/app"}), "app": shell, "plain": "<p>Who we are</p>"}
    with scripted(pages(**changed)) as site:
        audited = audit(site.url)
        (doubt,) = audited.doubts
        assert doubt.startswith("JavaScript may add links to 1 page, such as ")
        assert "links without it lead to only 2 pages" in doubt
        assert not audited.is_orphan(site.url)


@pytest.mark.parametrize("start", ["one that says something", "one that leads to most"])
def test_ours_a_start_with_few_links_is_no_doubt_by_itself(audit: Audit, start: str) -> None:
    changed: dict[str, Route] = {"": links("/hub/"), "hub/": links("/", "/hub/one", "/hub/two", "/plain")}
    if start == "one that says something":
        changed = {"": links("/plain") + "<p>Our boats are the best of the coast.</p>" * 9}
    with scripted(pages(**changed)) as site:
        audited = audit(site.url)
        assert audited.doubts == []
        assert audited.is_orphan(site.url)


def test_ours_a_spelling_that_a_log_knows_is_no_second_site(audit: Audit) -> None:
    """A server that takes any case, with relative links: what the other spelling links to is not asked for."""
    changed = pages()
    changed["/hub/"] = links("one", "two")
    for path in ("/hub/", "/hub/one", "/hub/two"):
        changed[path.upper()] = changed[path]
    log_of("/HUB/")
    with scripted(changed) as site:
        audited = audit(site.url, "--log", "access.log")
        assert "/HUB/" in site.paths
        assert not {"/HUB/one", "/HUB/two"} & set(site.paths)
        assert not [each for each in audited.report["findings"] if "HUB" in each["url"]]
        assert audited.is_orphan(site.url)


def test_ours_what_says_the_same_as_a_page_is_no_orphan(audit: Audit) -> None:
    """One page for all that is not known, one error for a whole directory, and parameters that change a token only."""

    class Catching(dict[str, Route]):
        def get(self, path: str, default: Any = None) -> Any:
            if path.startswith("/shop/"):
                return "<title>Sorry</title>We do not have this."
            bare, _, query = path.partition("?")
            return super().get(bare, self["/"]) if not query.startswith("page") else links("/", "/hub/three")

    tokens = count()

    def tokened(_: int) -> Answer:
        return Answer(links("/", "/hub/one", "/hub/two") + f"<input type=hidden name=csrf value={next(tokens)}>")

    log_of("/wp-login.php", "/.env", "/hub/?ref=mail", "/hub/?page=2", "/shop/a", "/shop/b", "/shop/c", "/lost")
    with scripted(Catching(pages(**{"hub/": tokened}))) as site:
        audited = audit(site.url, "--log", "access.log")
        found = {each["url"]: each for each in audited.report["findings"] if each["rule"] == "orphan.log"}
        assert set(found) == {f"{site.url}hub/?page=2", f"{site.url}shop/a"}
        assert found[f"{site.url}shop/a"]["spellings"] == [f"{site.url}shop/b", f"{site.url}shop/c"]
        pages_ = sum(bar["count"] for bar in audited.report["states"] if bar["label"] == "indexable")
        copies = pages_ - audited.report["pages"]
        assert copies > 1
        (note,) = audited.report["notes"]  # and so the numbers agree
        assert note.endswith(f", so its visits count for that page; the same applies to {copies - 1} more pages")
        assert audited.is_orphan(site.url)


def test_ours_the_last_known_links_of_a_failed_page_count(audit: Audit) -> None:
    """The hub fails in the second audit: the pages that only it links to are no orphans, and the real one is likely."""
    with scripted(pages()) as site:
        assert audit(site.url, "--fresh-crawl").is_orphan(site.url)
        site.routes["/hub/"] = Answer("ill", 500)
        audited = audit(site.url, "--fresh-crawl")
        found = {each["url"]: each["certainty"] for each in audited.report["findings"] if each["rule"] == ORPHAN}
        assert found == {f"{site.url}lost": "likely"}
        assert (audited.report["certainty"], len(audited.doubts)) == ("likely", 1)
        assert next(each for each in audited.report["counts"] if each["rule"] == ORPHAN)["likely"] == 1


def test_ours_a_failed_page_that_nobody_ever_read_may_link_to_what_is_below_it_or_links_to_it(audit: Audit) -> None:
    leaves = {f"leaf{number}.html": links("/", f"/leaf{number + 1}.html", "/") for number in range(60)}
    listed = [f"/leaf{number}.html" for number in range(61)]
    changed: dict[str, Route] = {
        **leaves,
        "": links("/hub/", "/plain", *listed),
        "leaf60.html": Answer("ill", 500),
        "lost": links("/leaf60.html"),
        "leaf60.html/below": links("/"),
        "beside": links("/"),
    }
    routes = pages(**changed)
    entries = "".join(f"<url><loc>{{url}}{path}</loc></url>" for path in ("lost", "leaf60.html/below", "beside"))
    xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    routes["/sitemap.xml"] = Answer(xml, headers={"Content-Type": "application/xml"})
    with scripted(routes) as site:
        found = {
            each["url"].removeprefix(site.url): each["certainty"]
            for each in audit(site.url).report["findings"]
            if each["rule"] == ORPHAN
        }
        assert found == {"lost": "inconclusive", "leaf60.html/below": "inconclusive", "beside": "likely"}


def test_ours_trust_failed_makes_findings_likely_and_fails_the_audit(audit: Audit) -> None:
    """The hub failed at the first visit: nobody knows what it links to, but the user vouches for one failed page."""
    with scripted(pages(**{"hub/": Answer("ill", 500)})) as site:
        fail = ("--fail-on", "orphan", "--fresh-crawl")
        doubtful = audit(site.url, *fail)
        assert (doubtful.code, doubtful.report["certainty"]) == (4, "inconclusive")
        assert "--set audit.trust_failed=1 to assume" in doubtful.report["doubts"][0]
        trusted = audit(site.url, *fail, "--set=audit.trust_failed=1")
        assert "trust_failed" not in trusted.report["doubts"][0]
        assert (trusted.code, trusted.report["certainty"]) == (10, "likely")
        assert {each["certainty"] for each in trusted.report["findings"] if each["rule"] == ORPHAN} == {"likely"}
        site.routes["/plain"] = Answer("ill", 500)
        assert audit(site.url, *fail, "--set=audit.trust_failed=1").report["certainty"] == "inconclusive"


MENU = "[['/lost','lost']].forEach(([u,t])=>{{const a=document.createElement('a');a.href=u;{0}.append(a)}})"
COUNTER = '<script async src="https://www.googletagmanager.com/gtag/js"></script><script>dataLayer=[]</script>'
CONSENT = '<div id="cookie-banner"></div><script src="/js/consent.js"></script>'
SCRIPTED = {
    "an inline script": f"<script>{MENU.format('document.body')}</script>",
    "a file": '<nav id="menu"></nav><script src="/assets/menu.js"></script>',
    "data": "<ul id=menu></ul><script>fetch('/menu.json').then(r=>r.text()).then(t=>menu.innerHTML=t)</script>",
    "an element": "<site-menu></site-menu><script type=module src=menu.mjs></script>",
}
TEXT = "<p>Our boats are the best of the coast, in any weather.</p>" * 9


@pytest.mark.parametrize("kind", SCRIPTED)
def test_ours_scripts_that_were_not_run_make_orphans_likely(audit: Audit, kind: str) -> None:
    """Also when the server says that nothing changed, and when the audit rests on the crawl of a run."""
    tagged = {"ETag": '"one"', "Content-Type": "text/html"}
    changed: dict[str, Route] = {
        "hub/": Answer(HUB + TEXT + SCRIPTED[kind], headers=tagged),
        "plain": Answer(links("/") + COUNTER + CONSENT, headers=tagged),
    }
    with scripted(pages(**changed)) as site:
        never = ("--render", "never", "--fail-on", "orphan", "--set=fetch.second_reads=0")
        for words in ((), ("--fresh-crawl",)):
            audited = audit(site.url, *never, *words)
            (doubt,) = audited.doubts
            assert doubt.startswith(f"JavaScript may add links to 1 page, such as {site.url}hub/ (")
            assert doubt.endswith("but it was not run. Audit without --render never")
            assert (audited.code, audited.report["certainty"]) == (10, "likely")
            found = {each["url"]: each["certainty"] for each in audited.report["findings"] if each["rule"] == ORPHAN}
            assert found == {f"{site.url}lost": "likely"}
            assert audited.report["absent"]["render"] == "JavaScript was not run. Audit without --render never"
        assert site.paths.count("/hub/") == 2
        assert "/menu.json" not in site.paths  # which a script would fetch


def test_ours_the_crawl_of_a_run_keeps_what_scripts_it_did_not_run(
    audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(pages(**{"hub/": HUB + TEXT + SCRIPTED["a file"]})) as site:
        fast = ("--rate", "0", "--set=parse.processes=1", "-o", "out", "-q", "--render", "never")
        monkeypatch.setattr("sys.argv", ["siteatlas", "crawl", site.url, *fast])
        assert app.run_command_line() == 0
        audited = audit(site.url, "--render", "never", "--set=fetch.second_reads=0")
        assert site.paths.count("/hub/") == 1
        assert (len(audited.doubts), audited.report["certainty"]) == (1, "likely")


@pytest.mark.parametrize("how", [("--render", "never"), ("--set=render.browser=/bin/false",)])
@pytest.mark.parametrize("link", ["", '<a href="/">home</a>'])
def test_ours_a_page_with_next_to_no_text_and_no_link_waits_for_its_script(
    audit: Audit, link: str, how: tuple[str, ...]
) -> None:
    page = f"<p>Please wait</p>{link}<script src=/assets/app.js></script>"
    with scripted(pages(plain=page)) as site:
        doubts = audit(site.url, "--set=fetch.second_reads=0", *how).doubts
    assert [f"{site.url}plain (/assets/app.js for the whole page)" in doubt for doubt in doubts] == [True] * (not link)


def test_ours_scripts_that_add_no_links_leave_a_crawl_conclusive(audit: Audit) -> None:
    aside = f"""{COUNTER}{CONSENT}<script type="application/ld+json">{{"url": "/lost"}}</script>
      <div id="search-results"></div><script src="/search.js"></script><script src="/theme-toggle.js"></script>
      <script>document.querySelector("button").onclick = () => document.body.classList.toggle("dark")</script>"""
    with scripted(pages(**{"hub/": HUB + TEXT + aside, "": links("/hub/", "/plain") + TEXT + aside})) as site:
        audited = audit(site.url, "--render", "never", "--fail-on", "orphan")
        assert (audited.code, audited.doubts) == (10, [])
        assert audited.is_orphan(site.url)


def test_ours_who_audits_as_root_reads_why_no_script_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright")
    for user, told in (
        (0, "Chromium has no sandbox for root: run siteatlas as another user"),
        (7, "Run siteatlas why"),
    ):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        assert render_remedy(build_config({"site": {"url": "https://www.example.com/"}})).startswith(told)


def test_ours_a_link_that_cloudflare_adds_is_no_doubt(audit: Audit) -> None:
    added = TEXT + '<a href="/cdn-cgi/l/email-protection#a1b2">[email&#160;protected]</a>'
    with scripted(pages(**{"hub/": HUB + added})) as site:
        audited = audit(site.url, "--render", "never", "--fail-on", "orphan")
        assert (audited.code, audited.doubts) == (10, [])


def test_ours_scripts_of_a_page_that_nothing_leads_to_are_no_doubt(audit: Audit) -> None:
    with scripted(pages(lost=links("/") + SCRIPTED["a file"])) as site:
        assert audit(site.url, "--render", "never").doubts == []
