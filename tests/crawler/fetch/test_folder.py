"""A folder of built pages as a server: what it answers, and that nothing outside of it is ever read."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fetching import IDENTITY
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.fetch.fetcher import Fetcher
from crawler.fetch.folder_transport import PIECE_BYTES, FolderTransport
from crawler.fetch.limits import PAGE_BODY, BodyLimits
from crawler.fetch.transports import FolderTransports
from crawler.model import Failure, Reply, Url

HOME = "https://www.example.com"
SECRET = b"outside of the folder"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages, and beside the folder what must not be read."""
    above = tmp_path_factory.mktemp("above")
    (above / "secret.html").write_bytes(SECRET)
    (above / "secrets").mkdir()
    (above / "secrets" / "index.html").write_bytes(SECRET)
    folder = above / "site"
    for name in (
        *("index.html", "page.html", "guide/index.html", "guide/first.html", "both.html", "both/index.html"),
        *("blog.html", "blog/post.html", "feed.rss", "plain", "LOUD.HTML", "empty.html", "a b.html", "50%.html"),
        *("naïve.html", ".hidden.html", ".git/config", "..html", "...html", "data.tar.unknown", "twice/a/b.html"),
    ):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<!doctype html><title>{name}</title>")
    (folder / "empty.html").write_bytes(b"")
    Path(os.fsdecode(os.fsencode(folder) + b"/latin\xe9.html")).write_text("latin")
    (folder / "out.html").symlink_to(above / "secret.html")
    (folder / "out").symlink_to(above / "secrets")
    (folder / "up").symlink_to("..")
    (folder / "in.html").symlink_to("page.html")
    (folder / "inner").symlink_to("guide")
    (folder / "loop.html").symlink_to("loop.html")
    (folder / "dangling.html").symlink_to("nowhere.html")
    (folder / "null.html").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.html")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "index.html")
    (folder / "large.html").write_bytes(b"<p>" * PIECE_BYTES)
    return folder


@pytest.fixture
async def fetcher(case: tuple[type, str], site: Path) -> AsyncIterator[Fetcher]:
    async with Fetcher(FolderTransports(case[0](), site, f"{HOME}/"), IDENTITY) as fetcher:
        yield fetcher


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def ask(fetcher: Fetcher, path: str, *headers: tuple[str, str], body: BodyLimits = PAGE_BODY) -> Reply:
    answer = await fetcher.fetch(Url(HOME + path), headers=headers, body=body)
    assert isinstance(answer, Reply), answer
    assert answer.url == HOME + path
    return answer


ANSWERS = [
    ("/", 200, "index.html"),
    ("/index.html", 200, "index.html"),
    ("/?a=/../x", 200, "index.html"),
    ("/page.html", 200, "page.html"),
    ("/page", 200, "page.html"),
    ("/page.html/", 404, ""),
    ("/page/", 404, ""),
    ("/guide/", 200, "guide/index.html"),
    ("/guide", 301, "/guide/"),
    ("/guide?a=1&b", 301, "/guide/?a=1&b"),
    ("/both", 301, "/both/"),
    ("/blog", 200, "blog.html"),
    ("/blog/", 404, ""),
    ("//guide//first", 200, "guide/first.html"),
    ("//guide", 301, "//guide/"),
    ("/plain", 200, "plain"),
    ("/LOUD.HTML", 200, "LOUD.HTML"),
    ("/loud.html", 404, ""),
    ("/a%20b.html", 200, "a b.html"),
    ("/50%25.html", 200, "50%.html"),
    ("/na%C3%AFve", 200, "naïve.html"),
    ("/latin%E9.html", 200, "latin"),
    ("/in.html", 200, "page.html"),
    ("/inner/first.html", 200, "guide/first.html"),
    ("/guide%2Ffirst.html", 404, ""),
    ("/.hidden.html", 404, ""),
    ("/.hidden", 404, ""),
    ("/.git/config", 404, ""),
    ("/%2egit/config", 404, ""),
    ("/..html", 404, ""),
    ("/out.html", 403, ""),
    ("/out/", 403, ""),
    ("/up/secret.html", 403, ""),
    ("/up/site/page.html", 200, "page.html"),
    ("/..%2Fsecret.html", 404, ""),
    ("/%2e%2e%2fsecret.html", 404, ""),
    ("/..%5Csecret.html", 404, ""),
    ("/guide/..%2f..%2fsecret.html", 404, ""),
    ("/page.html%00", 404, ""),
    ("/%00", 404, ""),
    ("/loop.html", 404, ""),
    ("/dangling.html", 404, ""),
    ("/null.html", 404, ""),
    ("/pipe.html", 404, ""),
    ("/pipe/", 404, ""),
    ("/pipe", 404, ""),
    (f"/{'x' * 5000}", 404, ""),
    (f"/{'x/' * 4000}", 404, ""),
    ("/missing", 404, ""),
]


@pytest.mark.anyio
async def test_ours_a_folder_answers_what_a_static_server_would(fetcher: Fetcher) -> None:
    for path, status, told in ANSWERS:
        answer = await ask(fetcher, path)
        assert answer.status == status, path
        if status == 301:
            assert answer.header("location") == HOME + told, path
        else:
            assert told in answer.body.decode() if told else answer.body == b"", path
        assert SECRET not in answer.body, path


@pytest.mark.anyio
async def test_ours_the_suffix_says_the_type_and_a_name_without_one_says_none(fetcher: Fetcher) -> None:
    types = {path: (await ask(fetcher, path)).header("content-type") for path in ("/", "/LOUD.HTML", "/feed.rss")}
    assert types == {"/": "text/html", "/LOUD.HTML": "text/html", "/feed.rss": "application/rss+xml"}
    assert (await ask(fetcher, "/plain")).header("content-type") is None
    assert (await ask(fetcher, "/data.tar.unknown")).header("content-type") == "application/octet-stream"


@pytest.mark.anyio
async def test_rfc9110_conditions_are_answered_as_a_server_would(fetcher: Fetcher, site: Path) -> None:
    os.utime(site / "page.html", (1_700_000_000, 1_700_000_000.7))
    first = await ask(fetcher, "/page.html")
    etag, modified = first.header("etag") or "", first.header("last-modified") or ""
    assert modified == "Tue, 14 Nov 2023 22:13:20 GMT"
    for headers, status in (
        ((("If-None-Match", etag),), 304),
        ((("If-None-Match", f'"x", W/{etag}'),), 304),
        ((("If-None-Match", '"x"'),), 200),
        ((("If-None-Match", '"x"'), ("If-Modified-Since", modified)), 200),
        ((("If-Modified-Since", modified),), 304),
        ((("If-Modified-Since", "Tue, 14 Nov 2023 22:13:19 GMT"),), 200),
        ((("If-Modified-Since", "yesterday"),), 200),
    ):
        answer = await ask(fetcher, "/page.html", *headers)
        assert (answer.status, bool(answer.body)) == (status, status == 200), headers
        assert answer.header("etag") == etag
    # a build that gives every file one time, and an edit that keeps the length
    (site / "page.html").write_text((site / "page.html").read_text().replace("page", "PAGE"))
    os.utime(site / "page.html", (1_700_000_000, 1_700_000_000.7))
    assert (await ask(fetcher, "/page.html", ("If-None-Match", etag))).status == 200
    (site / "page.html").write_text("<!doctype html><title>page.html</title>")


@pytest.mark.anyio
async def test_ours_a_large_file_is_read_in_pieces_and_within_the_limits(fetcher: Fetcher, site: Path) -> None:
    before = open_files()
    whole = await ask(fetcher, "/large.html")
    assert whole.body == b"<p>" * PIECE_BYTES
    assert whole.cut == ""
    cut = await ask(fetcher, "/large.html", body=BodyLimits(decoded=PIECE_BYTES + 10))
    assert len(cut.body) == PIECE_BYTES + 10
    refused = await fetcher.fetch(Url(f"{HOME}/large.html"), body=BodyLimits(refuse=PIECE_BYTES))
    assert isinstance(refused, Failure)
    assert refused.code == "body.too_large"
    assert open_files() <= before, "a file was left open"


@pytest.mark.anyio
async def test_ours_a_folder_stands_for_the_directory_and_nothing_above_it(case: tuple[type, str], site: Path) -> None:
    async with Fetcher(FolderTransports(case[0](), site, f"{HOME}/project/"), IDENTITY) as fetcher:
        for path, status in (
            *(("/project/", 200), ("/project/guide/", 200), ("/project/page", 200), ("/project/guide", 301)),
            *(("/", 404), ("/robots.txt", 404), ("/page.html", 404), ("/project", 404), ("/projects/", 404)),
        ):
            assert (await ask(fetcher, path)).status == status, path
        assert (await ask(fetcher, "/project/guide")).header("location") == f"{HOME}/project/guide/"


@pytest.mark.anyio
async def test_ours_another_origin_is_not_in_the_folder(fetcher: Fetcher) -> None:
    for url in ("http://www.example.com/", "https://127.0.0.1/", "https://www.example.com:8443/"):
        answer = await fetcher.fetch(Url(url.replace("www.example.com", "name.invalid")))
        assert isinstance(answer, Failure), url


pieces = st.sampled_from(
    ["..", "%2e%2e", ".", "/", "%2f", "%2F", "\\", "%5c", "%00", "secret.html", "secrets", "site", "out", "up", "inner",
     "out.html", "a", "%", "%ff", "~", "?", ";", "null.html"]
)  # fmt: skip


@given(st.lists(pieces, max_size=9).map(lambda parts: "/" + "".join(parts)))
@settings(max_examples=300)
def test_ours_no_path_leads_out_of_the_folder(site: Path, path: str) -> None:
    answer = FolderTransport(site, f"{HOME}/")._respond(path.encode(), {})
    assert SECRET not in answer.body
    assert answer.status in (200, 301, 403, 404)
    if answer.more >= 0:
        os.close(answer.more)
    location = dict(answer.fields).get("location", HOME)
    assert location.startswith(f"{HOME}/") or location == HOME
