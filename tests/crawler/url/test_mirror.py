"""Staging to production: which addresses become public ones, and where public ones are asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.config.load import build_config
from crawler.config.source import read_source
from crawler.model import Url
from crawler.url.normalize import join_url, normalize_url
from crawler.url.params import Mirror, UrlParams
from crawler.url.resolve import UrlResolver


def mirror(start: str, where: str, host: str = "") -> Mirror:
    headers = {"host": host} if host else {}
    found = read_source(build_config({"fetch": {"source": where, "headers": headers}}), normalize_url(start))
    assert found is not None
    assert found.mirror is not None
    return found.mirror


@pytest.mark.parametrize(
    ("where", "written", "public"),
    [
        # the source by every spelling that URLs allow
        ("http://staging.example.com", "http://staging.example.com/a?b=1", "/a?b=1"),
        ("http://staging.example.com", "http://staging.example.com", "/"),
        ("http://staging.example.com/", "HTTP://user:secret@STAGING.Example.COM:80/a#x", "/a"),
        ("http://staging.example.com:80", "https://staging.example.com/a", "/a"),
        ("http://staging.example.com", "//staging.example.com/a", "/a"),
        ("http://staging.example.com", "http://staging.example.com./a", "/a"),
        ("http://bücher.example", "http://xn--bcher-kva.example/a", "/a"),
        ("http://10.0.0.5:8080", "http://10.0.0.5:8080/a", "/a"),
        ("http://10.0.0.5:8080", "http://0xa.5:8080/a", "/a"),
        ("http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080/a", "/a"),
        ("http://[::1]:8080", "http://localhost:8080/a", "/a"),
        ("http://127.0.0.1:8080", "http://localhost:8080/a", "/a"),
        ("https://staging.example.com:8443", "https://staging.example.com:8443/a", "/a"),
        # what only looks alike
        ("http://staging.example.com", "http://staging.example.com.evil/", None),
        ("http://staging.example.com", "http://staging.example.com@evil.example/", None),
        ("http://staging.example.com", "http://staging.example.comx/", None),
        ("http://staging.example.com", "http://a.staging.example.com/", None),
        ("http://staging.example.com", "http://staging.example.com:8080/", None),
        ("http://staging.example.com", "https://staging.example.com:80/", None),
        ("http://127.0.0.1:8080", "http://127.0.0.1:808/", None),
        ("http://127.0.0.1:8080", "http://127.0.0.1/", None),
        ("http://127.0.0.1:8080", "http://localhost.evil:8080/", None),
        ("http://[::1]:8080", "http://[::1:8080]/", None),
        ("http://staging.example.com", "http://evil.example/http://staging.example.com/", None),
        # a path
        ("http://ci.example.com/builds/7/", "http://ci.example.com/builds/7/a", "/a"),
        ("http://ci.example.com/builds/7", "/builds/7/a", "/a"),
        ("http://ci.example.com/builds/7/", "/builds/7/builds/7/a", "/a"),
        ("http://ci.example.com/builds/7/", "/builds/77/a", "/builds/77/a"),
        ("http://ci.example.com/builds/7/", "http://ci.example.com/builds/77/a", None),
        ("http://ci.example.com/builds/7/", "http://ci.example.com/builds/7/../8/a", None),
    ],
)
def test_ours_a_name_of_the_source_becomes_the_public_one_and_nothing_else_does(
    where: str, written: str, public: str | None
) -> None:
    home = "https://www.example.com"
    params = UrlParams(mirror=mirror(f"{home}/", where))
    url = join_url(f"{home}/dir/page", written, params)
    assert url == (home + public if public is not None else join_url(f"{home}/dir/page", written))
    assert UrlResolver(params).resolve(f"{home}/dir/page", written) == url
    assert normalize_url(url, params) == url


def test_ours_a_host_header_is_a_name_of_the_site_with_the_port_of_the_source_too() -> None:
    """nginx writes its own port behind any name when it adds a slash (port_in_redirect)."""
    params = UrlParams(mirror=mirror("https://www.example.com/", "http://10.0.0.5:8080", "www.example.com"))
    for written in ("http://www.example.com/a", "http://www.example.com:8080/a", "https://www.example.com/a"):
        assert normalize_url(written, params) == "https://www.example.com/a"
    assert normalize_url("http://www.example.com:81/a", params) == "http://www.example.com:81/a"


def test_ours_a_host_of_one_letter_has_an_origin_like_any_other() -> None:
    found = Mirror("http://a/d/", "http://b/e/", ("http://b/e/",))
    assert found.request_url(Url("http://a/d/x")) == "http://b/e/x"
    assert found.request_url(Url("http://a/x")) == "http://b/x"
    assert not found.is_deep
    assert Mirror("http://a/d/", "http://b/e/", ("http://a/e/",)).is_deep


def test_ours_a_public_url_is_asked_for_at_the_same_path_of_the_source() -> None:
    whole = mirror("https://www.example.com/docs/", "http://[::1]:8080")
    assert whole.request_url(Url("https://www.example.com/docs/a?b")) == "http://[::1]:8080/docs/a?b"
    assert whole.request_url(Url("https://www.example.com/robots.txt")) == "http://[::1]:8080/robots.txt"
    assert whole.request_url(Url("https://other.example.com/a")) == "https://other.example.com/a"
    assert whole.request_url(Url("https://www.example.com:8080/a")) == "https://www.example.com:8080/a"
    below = mirror("https://www.example.com/docs/", "http://h.test/out/")
    assert below.request_url(Url("https://www.example.com/docs/a")) == "http://h.test/out/a"
    assert below.request_url(Url("https://www.example.com/robots.txt")) == "http://h.test/robots.txt"
    same = mirror("https://user.example/project/", "http://127.0.0.1:8000/project/")
    assert same.request_url(Url("https://user.example/project/a")) == "http://127.0.0.1:8000/project/a"


paths = st.text("ab/.%~7", max_size=12).map(lambda text: f"/{text}")
places = st.sampled_from(["http://h.test", "http://h.test/a/", "http://h.test:8080/a/b/", "http://www.example.com"])


@given(st.sampled_from(["https://www.example.com/", "https://www.example.com/a/"]), places, paths)
def test_ours_what_is_asked_for_is_what_was_public_and_a_public_url_stays_itself(
    start: str, where: str, path: str
) -> None:
    params = UrlParams(mirror=mirror(start, where))
    assert params.mirror is not None
    url = normalize_url("https://www.example.com" + path, params)
    assert normalize_url(url, params) == url
    if url.startswith(params.mirror.public):
        assert normalize_url(params.mirror.request_url(url), params) == url


def test_ours_a_body_of_the_source_is_compared_by_its_public_urls() -> None:
    made = mirror("https://www.example.com/", "http://staging.example.com")
    body = b'<a href="http://staging.example.com/a">http://staging.example.com/b</a> http://other.example/'
    assert made.rewrite(body) == (
        b'<a href="https://www.example.com/a">https://www.example.com/b</a> http://other.example/'
    )
