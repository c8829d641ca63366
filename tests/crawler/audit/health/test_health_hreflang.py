"""Clusters of language versions: one fixture for each thing that can be wrong, and sound ones that say nothing."""

from itertools import permutations

import pytest
from msgspec.structs import replace

from crawler.audit.finding import AuditFinding
from crawler.audit.health.hreflang import (
    HreflangLink,
    ListedHreflang,
    PageHreflang,
    check_hreflang_cluster,
    check_hreflang_labels,
    check_page_language,
    label_fits,
    states_wrong_language,
)
from crawler.audit.health.visit import VisitedUrl
from crawler.audit.rules import RULES
from crawler.model import State
from sitemap import Alternate

SITE = "https://example.com"
FIVE = ("en", "de", "fr", "pt-BR", "zh-Hant")


def at(name: str) -> str:
    return f"{SITE}/{name}/"


def alternates(labels: dict[str, str]) -> tuple[Alternate, ...]:
    return tuple(Alternate(label, url) for label, url in labels.items())


class Site:
    """Pages by their URL; what nobody made was never asked for."""

    def __init__(self, *labels: str, default: str = "en", how: str = "page") -> None:
        self.named = {label: at(label) for label in labels} | ({"x-default": at(default)} if default else {})
        self.pages: dict[str, PageHreflang] = {}
        for label in labels:
            self.add(label, label, self.named, how)

    def add(self, name: str, language: str, named: dict[str, str], how: str = "page") -> None:
        visited = VisitedUrl(url=at(name), state=State.INDEXABLE, status=200, title=name)
        said = alternates(named)
        listed = (ListedHreflang("sitemap.xml", 7, said),) if how == "sitemap" else ()
        self.pages[at(name)] = PageHreflang(
            visited=visited, language=language, own_alternates=said if how == "page" else (), listed=listed
        )

    def change(self, name: str, **fields: object) -> None:
        self.pages[at(name)] = replace(self.pages[at(name)], **fields)

    def visit(self, name: str, state: State, status: int | None, reason: str = "", **more: object) -> None:
        visited = VisitedUrl(url=at(name), state=state, status=status, reason=reason, **more)  # type: ignore[arg-type]
        self.pages[at(name)] = PageHreflang(visited=visited)

    def lookup(self, url: str) -> PageHreflang:
        return self.pages.get(url, PageHreflang(visited=VisitedUrl(url=url)))

    def judged(self) -> list[AuditFinding]:
        found, namings = [], []
        for url, page in self.pages.items():
            told, wrong = check_hreflang_cluster(page, self)
            assert {each.url for each in told} <= {url}
            found += told
            namings += wrong
        blamed: dict[str, list[HreflangLink]] = {}
        for url in self.pages:
            if odd := [each for each in namings if each.url == url]:
                if states_wrong_language(self.pages[url], odd, self):
                    found.append(check_page_language(self.pages[url], odd, self))
                else:
                    for each in odd:
                        blamed.setdefault(each.by, []).append(each)
        return [*found, *(check_hreflang_labels(self.pages[by], wrong) for by, wrong in blamed.items())]

    def found(self) -> dict[str, list[str]]:
        """The names of the pages with a finding, by rule."""
        found: dict[str, list[str]] = {}
        for finding in self.judged():
            assert finding.rule in RULES
            found.setdefault(finding.rule, []).append(finding.url.removeprefix(SITE).strip("/"))
        return found

    def sentence(self, name: str, rule: str) -> str:
        (found,) = [each for each in self.judged() if (each.rule, each.url) == (rule, at(name))]
        return found.sentence


@pytest.mark.parametrize("how", ["page", "sitemap"])
def test_google_five_languages_that_name_one_another_are_sound(how: str) -> None:
    """Stated in HTML or in headers, which are read as one, or in a sitemap."""
    assert Site(*FIVE, how=how).found() == {}


def test_google_a_cluster_may_be_stated_in_all_three_ways_at_once() -> None:
    site = Site(*FIVE)
    said = alternates(site.named)
    for number, label in enumerate(FIVE):
        if number % 2:
            site.change(label, listed=(ListedHreflang("a.xml", number, said), ListedHreflang("b.xml", 1, said)))
        else:
            site.change(label, own_alternates=said if number else (), listed=(ListedHreflang("a.xml", number, said),))
    assert site.found() == {}


def test_google_a_version_that_does_not_name_a_page_back() -> None:
    site = Site("en", "de", "fr")
    site.change("de", own_alternates=alternates({"de": at("de"), "fr": at("fr"), "x-default": at("fr")}))
    found = site.found()
    assert found["cluster.not_mutual"] == ["en"]
    said = site.sentence("en", "cluster.not_mutual")
    assert said.startswith(f"{at('de')}, labelled de, does not list this page in return")


def test_google_a_version_that_names_nobody_at_all() -> None:
    site = Site("en", "de")
    site.change("de", own_alternates=())
    assert site.found() == {"cluster.not_mutual": ["en"]}
    assert site.sentence("en", "cluster.not_mutual").endswith("it lists none")


def test_google_a_page_that_leaves_out_itself() -> None:
    site = Site("en", "de")
    site.change("de", own_alternates=alternates({"en": at("en"), "x-default": at("en")}))
    assert site.found() == {"cluster.no_self": ["de"]}


def test_google_no_default_is_said_once_for_a_cluster() -> None:
    assert Site(*FIVE, default="").found() == {"cluster.no_default": ["de"]}


@pytest.mark.parametrize(
    ("state", "status", "reason", "more", "said"),
    [
        (State.CLIENT_ERROR, 404, "answered 404, not found", {}, "answered 404, not found"),
        (State.SERVER_ERROR, 500, "answered 500, internal error", {}, "answered 500, internal error"),
        (State.UNREACHABLE, None, "example.com refused the connection", {}, "failed: example.com"),
        (State.NOINDEX, 200, 'meta robots "noindex"', {}, 'has noindex (meta robots "noindex")'),
        (State.REDIRECT, 301, "301 to x", {"target": at("en")}, f"redirects (301) to {at('en')}"),
        (State.CANONICAL_ELSEWHERE, 200, "canonical is x", {"target": at("en")}, f"names {at('en')} as its canonical"),
        (State.ROBOTS, None, "robots.txt line 3: Disallow: /de/", {}, "is blocked (robots.txt line 3: Disallow: /de/)"),
    ],
)  # fmt: skip
def test_google_a_version_that_is_no_page(
    state: State, status: int | None, reason: str, more: dict[str, str], said: str
) -> None:
    site = Site("en", "de", "fr")
    site.visit("de", state, status, reason, **more)
    assert site.found() == {"cluster.target": ["en", "fr"]}
    assert said in site.sentence("en", "cluster.target")


@pytest.mark.parametrize(
    ("state", "status", "reason"),
    [
        ("", None, ""),
        (State.PENDING, None, ""),
        (State.OUT_OF_SCOPE, None, "another host"),
        (State.ROBOTS, None, "robots.txt could not be had"),
        (State.CLIENT_ERROR, 429, "answered 429, too many requests"),
        (State.SERVER_ERROR, 503, "answered 503, unavailable"),
        (State.PARSE_FAILED, 200, "parse.timeout"),
        (State.INTERNAL_ERROR, None, "it broke"),
        (State.BAD_ANSWER, None, "the body that example.com announced is too large"),
        (
            State.UNREACHABLE,
            None,
            "10.0.0.1 is at a private address, which this crawl must not access; allow this host and port",
        ),
    ],
)
def test_ours_nothing_is_said_of_a_version_that_is_not_known(state: State, status: int, reason: str) -> None:
    site = Site("en", "de", "fr")
    site.visit("de", state, status, reason)
    assert site.found() == {}


def test_google_a_page_under_another_language_than_its_own() -> None:
    site = Site("en", "de", "fr")
    site.change("de", language="nl")
    assert site.found() == {"cluster.label": ["de"]}  # and of those who name it so nothing
    assert site.sentence("de", "cluster.label") == (
        f'its html element states lang="nl", but {at("en")} lists it as de, and 2 more like this'
    )


def test_ours_a_page_that_alone_calls_another_wrongly_is_told_itself() -> None:
    site = Site("en", "de", "fr")
    site.change(
        "en", own_alternates=alternates({"en": at("en"), "nl": at("de"), "fr": at("fr"), "x-default": at("en")})
    )
    assert site.found() == {"cluster.label": ["en"]}
    assert site.sentence("en", "cluster.label") == (f'{at("de")} is labelled nl, but its html element states lang="de"')


def test_ours_a_page_that_alone_calls_itself_wrongly_is_told() -> None:
    site = Site("en", "de", "fr")
    site.change("de", own_alternates=alternates(site.named | {"nl": at("de")}))
    assert site.sentence("de", "cluster.label") == (f'{at("de")} is labelled nl, but its html element states lang="de"')


def test_google_swapped_labels_are_told_as_such() -> None:
    site = Site("en", "de", "fr")
    site.change("de", language="fr")
    site.change("fr", language="de-DE")
    assert site.found() == {"cluster.swapped": ["en", "de", "fr"]}
    assert site.sentence("en", "cluster.swapped") == (
        f"{at('de')} is labelled de but states fr, and {at('fr')} is labelled fr but states de-DE"
    )


def test_google_swapped_regions() -> None:
    site = Site("en-US", "en-GB", default="en-US")
    site.change("en-US", language="en-GB")
    site.change("en-GB", language="en-US")
    assert set(site.found()) == {"cluster.swapped"}


def test_google_three_labels_that_went_round_are_wrong_one_by_one() -> None:
    site = Site("en", "de", "fr")
    for label, language in (("en", "de"), ("de", "fr"), ("fr", "en")):
        site.change(label, language=language)
    assert set(site.found()) == {"cluster.label"}


def test_google_one_label_for_two_pages() -> None:
    site = Site("en", "de", "fr")
    said = (*alternates(site.named), Alternate("de", at("fr")))
    site.change("en", own_alternates=said)
    site.change("fr", language="")
    assert site.found() == {"cluster.conflict": ["en"]}
    assert f"the page lists two URLs for de: {at('de')} and {at('fr')}" in site.sentence("en", "cluster.conflict")


def test_ours_a_page_and_a_sitemap_that_disagree() -> None:
    site = Site("en", "de", "fr")
    site.add("old", "de", {"de": at("old"), "en": at("en"), "x-default": at("en")})
    listed = (ListedHreflang("sitemap.xml", 12, alternates(site.named | {"de": at("old")})),)
    site.change("en", listed=listed)
    assert site.found()["cluster.conflict"] == ["en"]
    assert site.sentence("en", "cluster.conflict") == (
        f"for de, the page lists {at('de')}, but sitemap.xml line 12 lists {at('old')}"
    )


def test_ours_two_entries_that_disagree() -> None:
    site = Site("en", "de", "fr", how="sitemap")
    site.add("old", "de", site.named, "sitemap")
    said = alternates(site.named)
    other = alternates(site.named | {"de": at("old")})
    site.change("en", listed=(ListedHreflang("a.xml", 3, said), ListedHreflang("b.xml", 4, other)))
    assert site.found() == {"cluster.conflict": ["en"]}
    assert "a.xml line 3" in site.sentence("en", "cluster.conflict")


def test_ours_a_version_that_only_one_of_two_places_names_is_no_conflict() -> None:
    site = Site("en", "de", "fr")
    site.change("en", listed=(ListedHreflang("a.xml", 3, alternates({"en": at("en"), "de": at("de")})),))
    assert site.found() == {}


def test_google_a_code_that_is_no_language() -> None:
    site = Site("en", "de")
    site.change("de", faults=("hreflang 'en-UK' is no language code",))
    assert site.found() == {"cluster.code": ["de"]}


def test_google_two_pages_that_are_each_others_canonical() -> None:
    """Each names the other as its canonical, so neither is a page; who names them is told of both."""
    site = Site("en", "de", "fr")
    site.visit("de", State.CANONICAL_ELSEWHERE, 200, "", target=at("fr"))
    site.visit("fr", State.CANONICAL_ELSEWHERE, 200, "", target=at("de"))
    assert site.found() == {"cluster.target": ["en"]}
    assert site.sentence("en", "cluster.target").endswith("and 1 more like this")


def test_ours_what_a_sitemap_says_answers_a_link_of_a_page() -> None:
    site = Site("en", "de")
    site.change("de", own_alternates=(), listed=(ListedHreflang("a.xml", 1, alternates(site.named)),))
    assert site.found() == {}


def test_ours_a_link_back_to_a_spelling_that_leads_here_is_one() -> None:
    site = Site("en", "de")
    site.change("de", own_alternates=alternates({"en": at("EN"), "de": at("de"), "x-default": at("EN")}))
    site.visit("EN", State.REDIRECT, 301, "301", target=at("en"))
    assert site.found() == {"cluster.target": ["de"]}


def test_ours_half_a_page_is_not_blamed_for_what_was_not_read() -> None:
    site = Site("en", "de")
    site.change("de", own_alternates=(), is_whole=False)
    assert site.found() == {}


def test_ours_pages_without_versions_cost_no_look() -> None:
    class Nobody:
        def lookup(self, url: str) -> PageHreflang:
            raise AssertionError(url)

    visited = VisitedUrl(url=at("en"), state=State.INDEXABLE, status=200)
    assert check_hreflang_cluster(PageHreflang(visited=visited, language="en"), Nobody()) == ([], [])


def test_ours_versions_of_what_is_no_page_itself_are_not_judged() -> None:
    site = Site("en", "de")
    site.change("de", visited=VisitedUrl(url=at("de"), state=State.NOINDEX, status=200, reason="noindex"))
    assert site.found() == {"cluster.target": ["en"]}


def test_ours_a_pages_own_label_alone_is_no_cluster() -> None:
    assert Site("en", default="").found() == {}


@pytest.mark.parametrize(
    ("label", "stated", "fine"),
    [
        ("en-GB", "en", True),
        ("en", "en-GB", True),
        ("en-GB", "en-gb", True),
        ("en-GB", "en_GB", True),
        ("en-GB", "en-US", False),
        ("de", "fr", False),
        ("x-default", "fr", True),
        ("zh-Hant", "zh-TW", True),
        ("zh-Hant", "zh-CN", False),
        ("zh-CN", "zh-Hans", True),
        ("no", "nb", True),
        ("nn", "no", True),
        ("he", "iw", True),
        ("sr-Latn", "sr-Cyrl", False),
        ("sr-Latn", "sr", True),
        ("en", "", True),
        ("en", "english", True),
        ("en", "eng", True),
        ("es-419", "es-MX", True),
        ("de", "de-DE-1996", True),
        ("de", "{{ lang }}", True),
    ],
)
def test_rfc5646_labels_and_languages(label: str, stated: str, fine: bool) -> None:
    assert label_fits(label, stated) is fine


@pytest.mark.parametrize("order", list(permutations(("en", "de", "fr"))))
def test_ours_the_order_of_statements_does_not_matter(order: tuple[str, ...]) -> None:
    site = Site(*order)
    site.change("de", own_alternates=())
    assert sorted(site.found()["cluster.not_mutual"]) == ["en", "fr"]
