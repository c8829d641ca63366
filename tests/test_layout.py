"""Lines fit the terminal: they end between words, never inside a URL, and are whole when they are piped."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from run import on_terminal, siteatlas
from scripted import Answer, Route, Site, links, scripted

from crawler.audit.report.layout import MIN_WIDTH, Line, columns, fit, fitted, wrap

LONG = "the-complete-guide-to-buying-second-hand-furniture-in-upper-austria-and-salzburg"
URL = f"https://www.example.com/{LONG}.html"
SAMPLES = (
    *(
        "a",
        "of",
        "words",
        "sentence",
        "--set=output.max_shrink=with-a-hyphen",
        "1,204",
        "(100",
        "%)",
        "→",
        "-",
        "+",
        "…",
        ">",
    ),
    *(URL, f"({URL})", "漢字", "\x1b[31mred\x1b[0m", "--exclude '/docs/old pages/*'", "2026-11-22 20:01"),
)


def test_ours_a_sentence_is_wrapped_and_a_url_stays_whole() -> None:
    told = list(wrap(f"it was {URL} and more, with-a-hyphen", 50, "  ", "    "))
    assert told == ["  it was", f"    {URL}", "    and more, with-a-hyphen"]
    assert list(wrap("short", 50, "  ", "    ")) == ["  short"]
    assert list(wrap("words " * 100, 0, "  ")) == ["  " + "words " * 100]


def test_ours_a_line_ends_between_its_parts_before_it_ends_inside_one() -> None:
    line = "  https://www.example.com/a/page.html  no date → 2026-11-22  (- Price: 20; + Price: 25)"
    assert list(fit(line, 70)) == [
        "  https://www.example.com/a/page.html  no date → 2026-11-22",
        "    (- Price: 20; + Price: 25)",
    ]
    assert list(fit(line, 45)) == [
        "  https://www.example.com/a/page.html",
        "    no date → 2026-11-22",
        "    (- Price: 20; + Price: 25)",
    ]
    assert list(fit(line, 0)) == [line]


def test_ours_text_hangs_below_its_first_word_and_a_line_to_copy_stays_whole() -> None:
    row = Line("  ok       ", "robots.txt allows every crawler to fetch it")
    assert list(fit(row, 40)) == ["  ok       robots.txt allows every", "           crawler to fetch it"]
    assert list(fit(Line(f"Sitemap: {URL}"), 40)) == [f"Sitemap: {URL}"]


def test_ours_columns_fit_what_is_piped_only_if_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert fitted(["words " * 40]) == "words " * 40 + "\n"
    monkeypatch.setenv("COLUMNS", "40")
    assert max(map(len, fitted(["words " * 40]).splitlines())) <= 40


@pytest.mark.parametrize("seed", range(5))
def test_ours_every_line_fits_and_nothing_is_lost(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        parts = [" ".join(draw.choices(SAMPLES, k=draw.randint(1, 20))) for _ in range(draw.randint(1, 4))]
        text, width = "  ".join(parts), draw.choice((0, 1, MIN_WIDTH, 40, 60, 80, 100, 140))
        first, rest = " " * draw.randint(0, 12), " " * draw.randint(0, 12)
        lines = list(wrap(text, width, first, rest))
        assert " ".join(lines).split() == text.split()
        assert all(line.startswith(rest) for line in lines[1:])
        assert not width or not too_long("\n".join(lines), max(width, MIN_WIDTH)), (text, width)
        assert not [line for line in lines[:-1] if width and re.search(r"(?<![^ ])[-+→>]$", line)], (text, width)
        assert all(URL in line or "https" not in line for line in lines)


def too_long(text: str, width: int) -> list[str]:
    """The lines that are too long although they could end earlier: they have more than one word or indivisible pair."""
    pair = re.compile(r"(?<![^ (])[-+~<>→…] |--[a-z-]+ '[^']*'|\d{4}-\d\d-\d\d (?=\d\d:)")
    lines = ((line, pair.sub(lambda found: found[0].replace(" ", "_"), line.strip())) for line in text.splitlines())
    return [line for line, words in lines if columns(line) > width and " " in words]


def html(title: str, text: str, price: int, head: str = "") -> str:
    return f"<title>{title}</title>{head}<h1>{title}</h1><p>{text}</p><p>Price: EUR {price}.00</p>{links('/')}"


def shop(generation: int) -> dict[str, Route]:
    """A site with long URLs and titles, and pages in many states; some change with the generation."""
    pages: dict[str, Route] = {}
    for number in range(9):
        renamed = generation > 1 and number % 3 == 1
        title = f"{'Renamed: ' if renamed else ''}Piece {number}, with a title that names everything one could look for"
        text = "It lasts for years without any trouble at all, " * (3 if generation > 1 and number % 3 == 2 else 2)
        pages[f"/shop/{LONG}-{number}.html"] = html(title, text, 20 + number + generation * (number % 3 == 0))
    if generation > 1:
        pages.pop(f"/shop/{LONG}-8.html")
        pages[f"/shop/{LONG}-7.html"] = Answer(status=301, headers={"Location": f"/shop/{LONG}-0.html"})
        pages["/shop/new.html"] = html("New", "A new piece", 1)
    odd: dict[str, Route] = {
        f"/noindex/{LONG}.html": html("n", "x", 1, '<meta name="robots" content="noindex, nofollow">'),
        f"/copy/{LONG}.html": html("c", "x", 1, f'<link rel="canonical" href="/shop/{LONG}-0.html">'),
        f"/moved/{LONG}.html": Answer(status=302, headers={"Location": f"/shop/{LONG}-1.html"}),
        f"/file/{LONG}.pdf": Answer(b"%PDF-", headers={"Content-Type": "application/pdf"}),
        f"/broken/{LONG}.html": Answer("x", 500),
    }
    linked = [*pages, *odd, f"/secret/{LONG}.html", f"/gone/{LONG}.html", f"https://elsewhere.example/{LONG}.html"]
    robots = Answer("User-agent: *\nDisallow: /secret/\n", headers={"Content-Type": "text/plain"})
    return {"/": f"<title>The shop</title>{links(*linked)}", **pages, **odd, "/robots.txt": robots}


CONFIG = """
[state]
directory = "state"
[pace]
rate = 0
[fetch]
retries = 0
[output]
swap_delay = 0
[schedule]
every = "1d"
[webhook]
urls = ["http://127.0.0.1:9/a-hook-with-a-long-name-that-nobody-answers/{long}"]
[notify]
attempts = 1
[sites.shop-of-the-upper-austrian-furniture-company.site]
url = "{url}"
[sites.shop-of-the-upper-austrian-furniture-company.output]
directory = "public"
[sites.second.site]
url = "{url}gone/"
[sites.second.output]
directory = "second"
"""
SHOP = ("--config", "sites.toml", "--site", "shop-of-the-upper-austrian-furniture-company")
FOLDER = "folder-of-sitemaps-with-errors"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Site]]:
    """A folder with the state of two runs, of which the second changed pages, and with a bad sitemap."""
    folder = tmp_path_factory.mktemp("terminal")
    with scripted(shop(1)) as site:
        (folder / "sites.toml").write_text(CONFIG.format(url=site.url, long=LONG))
        siteatlas(folder, "run", "--config", "sites.toml", "-q")
        site.routes = shop(2)
        siteatlas(folder, "run", "--config", "sites.toml", "-q")
        (folder / FOLDER).mkdir()
        entry = f"<url><loc>{{}}</loc><lastmod>2026-13-{LONG}</lastmod><priority>3</priority></url>"
        entries = "".join(map(entry.format, (f"{site.url}{LONG}", f"{site.url}{LONG}", URL, "/relative")))
        (folder / FOLDER / "sitemap.xml").write_text(
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
        )
        yield folder, site


READING = {
    "compare": ("compare", *SHOP),
    "why": ("why", f"/shop/{LONG}-1.html", f"/secret/{LONG}.html", f"/shop/{LONG}-7.html", "/unknown", *SHOP),
    "robots": ("robots", "--config", "sites.toml"),
    "status": ("status", "--config", "sites.toml"),
    "lint": ("lint", FOLDER, "--url", "http://127.0.0.1/sitemap.xml"),
    "lint -v": ("lint", FOLDER, "-v"),
    "lint --rules": ("lint", "--rules"),
    "audit --rules": ("audit", "--rules"),
    "notify": ("notify", "--config", "sites.toml", "--dry-run"),
    "init": ("init", "https://www.example.com/", "--print"),
    "config": ("config",),
}
"""Commands that change nothing."""
VERBATIM = re.compile(
    r"  (siteatlas|runuser|sudo|useradd|install|setfacl|cp|git|\(crontab|kubectl) |[^#]*=|# \w+ =|    \"|.Sitemap: "
    r"|[-+]{3} |[a-z ]{11}> \S+$"
)
"""Lines to copy, settings of a configuration, and a URL with the name of its topic."""


def broken(text: str, width: int) -> list[str]:
    return [line for line in too_long(text, width) if not VERBATIM.match(line)]


@pytest.mark.parametrize("width", [80, *(pytest.param(width, marks=pytest.mark.slow) for width in (60, 100, 140))])
@pytest.mark.parametrize("name", READING)
def test_ours_what_a_command_shows_fits_the_terminal_and_is_whole_in_a_pipe(
    crawled: tuple[Path, Site], name: str, width: int
) -> None:
    folder, _ = crawled
    shown = on_terminal(folder, width, *READING[name])
    assert len(shown) > 50
    assert broken(shown, width) == []
    assert "\x1b" not in shown
    if width == 80 and name != "status":  # which leaves out columns
        piped = siteatlas(folder, *READING[name]).out
        assert without_comments(piped) == without_comments(shown)
        assert len(piped.splitlines()) <= len(shown.splitlines())


def without_comments(text: str) -> list[str]:
    """The words of a text: as many in a pipe as on a terminal, but for the signs of comments."""
    varying = re.compile(r"\d+(\.\d+)? (ms|s|seconds?|min(utes?)?)\b")  # durations, and how long ago runs were
    return [word for word in varying.sub("", text).split() if word != "#"]


WRITING = {
    "crawl": ("crawl", "{url}", "-o", "other", "--state", "other-state", "--rate", "0", "--set=fetch.retries=0"),
    "run": ("run", "--config", "sites.toml"),
    "audit": ("audit", "{url}", "--state", "other-state", "--rate", "0", "--set=fetch.retries=0", "-o", "report", "-v"),
    "notify": ("notify", "--config", "sites.toml"),
    "rollback": ("rollback", *SHOP),
    "init": ("init", "https://www.example.com/", "--systemd", "--cron", "--github", "--kubernetes", "--force"),
    "robots --patch": ("robots", "--patch", "robots.txt", *SHOP),
}
"""Commands that change something, in an order in which they can."""


def test_ours_what_a_command_did_fits_the_terminal(crawled: tuple[Path, Site]) -> None:
    folder, site = crawled
    for name, words in WRITING.items():
        shown = on_terminal(folder, 80, *(word.format(url=site.url) for word in words))
        assert len(shown) > 50, name
        assert broken(shown, 80) == [], name
