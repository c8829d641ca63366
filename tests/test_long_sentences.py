"""What a site says at length: no sentence of ours repeats more than 200 bytes of it, wherever it is shown or kept."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from run import siteatlas
from scripted import Answer, Route, Site, links, scripted

LONG = "QX" * 1_500
"""What a hostile site puts wherever it can; nothing else has such letters."""
FIELD = re.compile(r"^\s*(?:leads to\s+> |for example |sitemap +)?https?://\S+")
"""The URL that a line is about, whole, for copying."""
REPEATED = re.compile(r"(?:QX){100,}")
SENTENCES = ("reason", "message", "sentence", "refusal", "because", "notes", "evidence", "remedy", "title")
"""Keys of JSON whose values are sentences; the value of a key such as url is the URL itself."""


def talkative() -> dict[str, Route]:
    head = (
        f'<link rel="canonical" href="/c1{LONG}"><link rel="canonical" href="http://[{LONG}/">'
        f'<link rel="alternate" hreflang="{LONG}" href="/a"><link rel="alternate" hreflang="de" href="http://[{LONG}">'
        f'<meta name="robots" content="{LONG}, noindex">'
    )
    pages: dict[str, Route] = {
        "/moved": Answer("", 301, {"Location": f"/{LONG}"}),
        "/lost": Answer("", 301, {"Location": f"http://[{LONG}"}),
        "/typed": Answer("x", headers={"Content-Type": f"text/{LONG}"}),
        "/coded": Answer(b"\x00\x01x", headers={"Content-Encoding": LONG, "Content-Type": "text/html"}),
        "/coded-often": Answer(b"x", headers={"Content-Encoding": f"{LONG}, {LONG}, {LONG}"}),
        "/hidden": Answer("<p>x", headers={"X-Robots-Tag": f"{LONG}: noindex, noindex, {LONG}"}),
        "/charset": Answer(b"<p>x", headers={"Content-Type": f"text/html; charset={LONG}"}),
        "/canonical": f'<link rel="canonical" href="/{LONG}"><p>x',
        "/refresh": f'<meta http-equiv="refresh" content="0; url=/{LONG}"><p>x',
        "/refreshes": Answer("<p>x", headers={"Refresh": f"0; url=/{LONG}"}),
        "/head": f"{head}<title>{LONG}</title><p>x",
        "/dates": f'<script type="application/ld+json">{{"@type": "Article", "dateModified": "{LONG}"}}</script><p>x',
        "/status": Answer("x", 299),
        "/challenge": Answer("<p>x", 403, {"cf-mitigated": "challenge", "Server": LONG}),
        "/retry": Answer("x", 500, {"Retry-After": LONG}),
        "/private/x": "x",
    }
    return {
        "/": links(*pages, f"/{LONG}", f"http://[{LONG}", f"/{LONG}/a/a/a/a/a", head="<title>Home</title>"),
        "/robots.txt": Answer(
            f"User-agent: *\nDisallow: /private/{LONG}\nDisallow: /private/\nSitemap: http://[{LONG}\n"
            f"Sitemap: {{url}}{LONG}.xml\nCrawl-delay: {LONG}\n",
            headers={"Content-Type": "text/plain"},
        ),
        "/sitemap.xml": Answer(
            f"<urlset xmlns='{LONG}'><url><loc>{{url}}{LONG}</loc><lastmod>{LONG}</lastmod><{LONG}/></url>"
            f"<url><loc>http://[{LONG}</loc><priority>{LONG}</priority><changefreq>{LONG}</changefreq></url>",
            headers={"Content-Type": f"text/{LONG}"},
        ),
        **pages,
    }


def sentences(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """The sentences in JSON, with their keys."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from sentences(inner, name)
        case list():
            for inner in value:
                yield from sentences(inner, key)
        case str() if key in SENTENCES:
            yield key, value


def stored(folder: Path) -> Iterator[tuple[str, str]]:
    """The sentences in the state and in the audits."""
    for path in folder.rglob("*.db"):
        with closing(sqlite3.connect(path)) as db:
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                for column in {"reason", "because", "refusal", "notes", "message", "sentence", "said"}.intersection(
                    columns
                ):
                    for (value,) in db.execute(f"SELECT {column} FROM {table}"):
                        yield f"{path.name} {table}.{column}", str(value)


def too_long(said: dict[str, str]) -> dict[str, str]:
    return {where: text[:400] for where, text in said.items() if REPEATED.search(FIELD.sub("", text, 1))}


def test_ours_no_sentence_repeats_more_than_200_bytes_of_a_site(tmp_path: Path) -> None:
    with scripted(talkative()) as site:
        check(tmp_path, site)


def check(folder: Path, site: Site) -> None:
    words = ("--rate", "0", "--set=fetch.retries=0", "--state", "state")
    crawled = siteatlas(folder, "crawl", site.url, "-o", "out", "-v", *words)
    again = siteatlas(folder, "crawl", site.url, "-o", "out", "--json", *words)
    (folder / "access.log").write_text(
        "".join(
            f'192.0.2.1 - - [01/Jul/2026:10:00:00 +0000] "GET {path} HTTP/1.1" 200 5 "-" "{LONG}"\n'
            for path in (f"/{LONG}", f"/moved?{LONG}", "/head")
        )
        + f"{LONG} {LONG}\n"
    )
    audited = siteatlas(folder, "audit", site.url, "--log", "access.log", "-o", "report", *words)
    assert [crawled.code, again.code, audited.code] == [0, 0, 0]
    linted = siteatlas(folder, "lint", f"{site.url}sitemap.xml")
    why = siteatlas(folder, "why", f"{site.url}moved", "--state", "state")
    robots = siteatlas(folder, "robots", site.url)
    status = siteatlas(folder, "status", "--state", "state")
    said = {
        f"{name} {number}": line
        for name, ran in {
            "crawl": crawled,
            "audit": audited,
            "lint": linted,
            "why": why,
            "robots": robots,
            "status": status,
        }.items()
        for number, line in enumerate((ran.out + ran.err).splitlines())
    }
    values = [("crawl --json", json.loads(again.out))]
    values += [(path.name, json.loads(path.read_text())) for path in (folder / "report").glob("*.json")]
    said |= {f"{name} {key} {n}": text for name, value in values for n, (key, text) in enumerate(sentences(value))}
    said |= {f"{where} {number}": text for number, (where, text) in enumerate(stored(folder / "state"))}
    assert len(said) > 100
    assert sorted(too_long(said)) == []
