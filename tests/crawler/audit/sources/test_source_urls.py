"""Texts of sources as URLs of the site: the short way for plain texts has the result of the long one."""

from hypothesis import given
from hypothesis import strategies as st

from crawler.audit.sources.logs.claims import OwnTargets
from crawler.audit.sources.logs.fields import target_text
from crawler.audit.sources.urls import SourceUrlParser
from crawler.model import Url
from crawler.url.normalize import join_url
from crawler.url.params import UrlParams

SITE = "https://www.example.com"
PIECES = st.sampled_from(
    [*"/?&=#;%.'\"+,:@~ \\<é", "..", "%41", "%c3%a9", "//", "a", "B1", "gclid=7", "utm_x=", "sid=1", "q"]
)


@given(
    st.lists(PIECES, max_size=14).map("".join), st.sampled_from([UrlParams(), UrlParams(("q", "a*")), UrlParams(())])
)
def test_ours_a_path_of_a_log_has_one_canonical_form(rest: str, params: UrlParams) -> None:
    parsed = SourceUrlParser(Url(f"{SITE}/"), params, lambda _: True).parse(f"/{rest}")
    assert parsed == join_url(f"{SITE}/", f"{SITE}/{rest}".rstrip(), params)


@given(
    st.lists(PIECES, max_size=14).map("".join), st.sampled_from([UrlParams(), UrlParams(("q", "a*")), UrlParams(())])
)
def test_ours_a_target_of_a_log_without_click_ids_has_the_same_url(rest: str, params: UrlParams) -> None:
    parser = SourceUrlParser(Url(f"{SITE}/"), params, lambda _: True)
    target = f"/{rest}".encode()
    cleaned = OwnTargets(*parser.own_paths()).clean(target)
    assert parser.parse(target_text(cleaned)) == parser.parse(target_text(target))
