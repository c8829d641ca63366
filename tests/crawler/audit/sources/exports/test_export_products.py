"""Exports as the products write them, in the languages of their interfaces."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler.audit.source_record import SourceKind, SourceRecord, SourceReport
from crawler.audit.sources.exports.reader import read_export
from crawler.audit.sources.urls import SourceUrlParser
from crawler.errors import UsageError
from crawler.url.normalize import host_of, normalize_url
from crawler.url.params import UrlParams

SITE = "https://example.com"
Read = Callable[..., tuple[SourceReport, dict[str, SourceRecord]]]


def addresses(start: str = f"{SITE}/") -> SourceUrlParser:
    return SourceUrlParser(normalize_url(start), UrlParams(), lambda url: host_of(url) == host_of(normalize_url(start)))


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(
        content: str | bytes, source: SourceKind, name: str = "export.csv", column: str = ""
    ) -> tuple[SourceReport, dict[str, SourceRecord]]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        account, claims = read_export(str(path), source, addresses(), column, lambda url: b"")
        return account, {claim.url: claim for claim in claims}

    return reading


def zipped(path: Path, members: dict[str, str | bytes]) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path.read_bytes()


HEADERS = {
    "en": "Top pages,Clicks,Impressions,CTR,Position",
    "de": "Häufigste Seiten,Klicks,Impressionen,CTR,Position",
    "fr": "Pages les plus populaires,Clics,Impressions,CTR,Position",
    "es": "Páginas principales,Clics,Impresiones,CTR,Posición",
    "it": "Pagine principali,Clic,Impressioni,CTR,Posizione",
    "pt": "Páginas principais,Cliques,Impressões,CTR,Posição",
    "ru": "Самые популярные страницы,Клики,Показы,CTR,Позиция",
    "ja": "上位のページ,クリック数,表示回数,CTR,掲載順位",
    "a language nobody taught us": "Síður,Smellir,Birtingar,Smellihlutfall,Sæti",
}


@pytest.mark.parametrize("language", HEADERS)
def test_google_search_console_archive_in_any_language(language: str, read: Read, tmp_path: Path) -> None:
    content = zipped(
        tmp_path / "made.zip",
        {
            "Suchanfragen.csv": "Häufigste Suchanfragen,Klicks,Impressionen,CTR,Position\n"
            "example.com,9,10,90%,1\nshoes,1,2,50%,3\n",
            "Seiten.csv": f'{HEADERS[language]}\n{SITE}/a,"1,204",30512,3.9%,7.4\n{SITE}/b,0,7,0%,12\n',
            "Länder.csv": "Land,Klicks,Impressionen,CTR,Position\nDeutschland,9,10,90%,1\n",
            "Diagramm.csv": "Datum,Klicks,Impressionen,CTR,Position\n2026-08-22,1,2,50%,1\n2026-11-19,1,2,50%,1\n",
            "Filter.csv": f"Filter,Wert\nSuchtyp,Web\nDatum,Letzte 3 Monate\nSeite,+{SITE}/\n",
        },
    )
    account, claims = read(content, SourceKind.SEARCH, "example.com-Performance-on-Search.zip")
    assert claims == {
        f"{SITE}/a": SourceRecord(
            url=normalize_url(f"{SITE}/a"), first="2026-08-22", last="2026-11-19", clicks=1204, impressions=30512
        ),
        f"{SITE}/b": SourceRecord(url=normalize_url(f"{SITE}/b"), first="2026-08-22", last="2026-11-19", impressions=7),
    }
    assert (account.rows, account.used, account.first, account.last) == (2, 2, "2026-08-22", "2026-11-19")
    assert account.complete
    assert not account.faults + account.notes


def test_google_search_console_compares_two_periods(read: Read) -> None:
    _, claims = read(
        "Top pages,Last 28 days Clicks,Previous 28 days Clicks,Last 28 days Impressions,Previous 28 days Impressions\n"
        f"{SITE}/a,5,90,60,70\n",
        SourceKind.SEARCH,
    )
    assert (claims[f"{SITE}/a"].clicks, claims[f"{SITE}/a"].impressions) == (5, 60)


def test_google_search_console_says_when_its_interface_cuts(read: Read) -> None:
    rows = "".join(f"{SITE}/{i},1,2,50%,1\n" for i in range(1000))
    account, claims = read(f"{HEADERS['en']}\n{rows}", SourceKind.SEARCH)
    assert len(claims) == 1000
    assert "1,000 rows" in account.notes[0]


API_ROWS = [
    {"keys": ["2026-11-01", "shoes", f"{SITE}/a"], "clicks": 3.0, "impressions": 40.0, "ctr": 0.075, "position": 2.5},
    {"keys": ["2026-11-02", "boots", f"{SITE}/b"], "clicks": 0, "impressions": 1, "ctr": 0, "position": 90},
]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"rows": API_ROWS, "responseAggregationType": "byPage"}),
        json.dumps({"responseAggregationType": "byPage", "rows": API_ROWS}, indent=2),
        json.dumps(API_ROWS),
        json.dumps(API_ROWS, indent=1),
        "\n".join(map(json.dumps, API_ROWS)),
        "\n".join(json.dumps({"rows": [row]}) for row in API_ROWS),
        "\n".join(json.dumps({"rows": [row]}, indent=2) for row in API_ROWS),
    ],
)
def test_google_search_console_api(content: str, read: Read) -> None:
    account, claims = read(content, SourceKind.SEARCH, "answer.json")
    assert (claims[f"{SITE}/a"].clicks, claims[f"{SITE}/a"].impressions) == (3, 40)
    assert (claims[f"{SITE}/b"].clicks, claims[f"{SITE}/b"].impressions) == (0, 1)
    assert account.format == "Search Console API"
    assert account.used == account.rows == 2


def test_google_search_console_bulk_export(read: Read) -> None:
    head = "data_date,site_url,url,query,is_anonymized_query,country,search_type,device,impressions,clicks,sum_position"
    row = f"2026-11-0%d,sc-domain:example.com,{SITE}/a,,true,deu,WEB,MOBILE,10,1,12"
    account, claims = read(f"{head}\n{row % 1}\n{row % 3}\n".replace("%", ""), SourceKind.SEARCH)
    assert claims[f"{SITE}/a"].impressions == 10
    assert (account.first, account.last) == ("2026-11-01", "2026-11-03")
    lines = [
        {"data_date": "2026-11-01", "site_url": f"{SITE}/", "url": f"{SITE}/a", "impressions": "12", "clicks": "1"}
    ]
    account, claims = read("".join(json.dumps(each) + "\n" for each in lines), SourceKind.SEARCH, "bq.jsonl")
    assert (claims[f"{SITE}/a"].impressions, claims[f"{SITE}/a"].first) == (12, "2026-11-01")


def test_bing_pages(read: Read) -> None:
    account, claims = read(
        f'"Page","Impressions","Clicks","CTR","Avg. Position"\n"{SITE}/a","1,500","12","0.80%","7.2"\n',
        SourceKind.SEARCH,
    )
    assert (claims[f"{SITE}/a"].clicks, claims[f"{SITE}/a"].impressions) == (12, 1500)
    assert account.format == "Bing pages"
    answer = {
        "d": [{"__type": "QueryStats", "AvgClickPosition": 2, "Clicks": 4, "Impressions": 9, "Query": f"{SITE}/a"}]
    }
    _, claims = read(json.dumps(answer), SourceKind.SEARCH, "bing.json")
    assert (claims[f"{SITE}/a"].clicks, claims[f"{SITE}/a"].impressions) == (4, 9)


GA4 = """# ----------------------------------------
# Pages and screens: Page path and screen class
# Account: Example "Shop
# Property: Example - GA4
# ----------------------------------------
#
# All Users
# Start date: 20261024
# End date: 20261120
Nth day,Views
0000,12
0001,13

# All Users
# Start date: 20261024
# End date: 20261120
Page path and screen class,Views,Active users,Views per active user,Event count
/,"12,480",4215,2.96,50000
/a?utm_source=x,840,300,2.8,2000
(not set),12,3,4,20
(other),99,3,4,20

,13431,4500,2.98,52020
"""


def analysed(claim: SourceRecord) -> dict[str, int]:
    """What analytics counted."""
    counts = {name: getattr(claim, name) for name in ("sessions", "views", "users")}
    return {name: count for name, count in counts.items() if count}


def test_google_analytics_page_report(read: Read) -> None:
    account, claims = read(GA4, SourceKind.ANALYTICS, "download.csv")
    assert {url: claim.views for url, claim in claims.items()} == {f"{SITE}/": 12480, f"{SITE}/a": 840}
    assert all(claim.users and not claim.sessions for claim in claims.values())
    assert (account.first, account.last) == ("2026-10-24", "2026-11-20")
    assert account.beside == 3
    assert not account.complete  # (other) hides pages
    assert "(other)" in account.notes[0]


def test_google_analytics_exploration_with_totals(read: Read) -> None:
    account, claims = read(
        "# ----\n# Free form 1\n# 20261001-20261031\n# ----\n\n"
        "Page location,Sessions,Views,Totals\n,900,1000,Grand total\n"
        "https://www.example.com/a,40,90,\nhttps://shop.example.net/x,1,1,\n",
        SourceKind.ANALYTICS,
    )
    assert (claims[f"{SITE}/a"].sessions, claims[f"{SITE}/a"].views) == (40, 90)
    assert (account.used, account.foreign, account.beside) == (1, 1, 1)
    assert (account.first, account.last) == ("2026-10-01", "2026-10-31")


@pytest.mark.parametrize(
    ("header", "cell", "counted"),
    [
        ("Seitenpfad und Bildschirmklasse,Aufrufe,Aktive Nutzer", "1.234", {"views": 1234, "users": 7}),
        (
            "Chemin de la page et classe de l\u2019écran,Vues,Utilisateurs actifs",
            '"1 234"',
            {"views": 1234, "users": 7},
        ),
        ("Ruta de la página y clase de pantalla,Vistas,Usuarios activos", "1.234", {"views": 1234, "users": 7}),
        ("Percorso pagina e classe schermata,Visualizzazioni,Utenti attivi", "1.234", {"views": 1234, "users": 7}),
        ("Caminho da página e classe da tela,Visualizações,Usuários ativos", "1.234", {"views": 1234, "users": 7}),
        ("Landing page,Sessions,Active users", '"1,234"', {"sessions": 1234, "users": 7}),
        ("Síða,Skoðanir,Notendur", "1234", {"views": 1234}),
    ],
)
def test_google_analytics_in_any_language(header: str, cell: str, counted: dict[str, int], read: Read) -> None:
    _, claims = read(f"# Startdatum: 20261001\n# Enddatum: 20261031\n{header}\n/a,{cell},7\n", SourceKind.ANALYTICS)
    assert analysed(claims[f"{SITE}/a"]) == counted
    assert claims[f"{SITE}/a"].last == "2026-10-31"


def test_google_analytics_tells_hosts_apart(read: Read) -> None:
    account, claims = read(
        "Hostname,Page path,Views\nexample.com,/a,3\nblog.example.net,/b,4\nwww.example.com,/c,5\n",
        SourceKind.ANALYTICS,
    )
    assert sorted(claims) == [f"{SITE}/a", f"{SITE}/c"]
    assert account.foreign == 1
    _, claims = read("Full page URL,Views\nwww.example.com/a,3\nwww.example.com/,9\n", SourceKind.ANALYTICS)
    assert sorted(claims) == [f"{SITE}/", f"{SITE}/a"]


@pytest.mark.parametrize("indent", [None, 2])
def test_google_analytics_api(indent: int | None, read: Read) -> None:
    answer = {
        "dimensionHeaders": [{"name": "date"}, {"name": "pagePath"}],
        "metricHeaders": [{"name": "screenPageViews", "type": "TYPE_INTEGER"}, {"name": "sessions"}],
        "rows": [
            {
                "dimensionValues": [{"value": "20261101"}, {"value": "/a"}],
                "metricValues": [{"value": "12"}, {"value": "7"}],
            }
        ],
        "rowCount": 1,
        "kind": "analyticsData#runReport",
    }
    for content in (answer, {"reports": [answer]}):
        account, claims = read(json.dumps(content, indent=indent), SourceKind.ANALYTICS, "ga4.json")
        assert analysed(claims[f"{SITE}/a"]) == {"sessions": 7, "views": 12}
        assert claims[f"{SITE}/a"].first == "2026-11-01"
    assert account.format == "Google Analytics API"


def test_matomo_writes_utf_16(read: Read) -> None:
    table = f"label,nb_visits,nb_hits,metadata_url\n/a,12,30,{SITE}/a\nothers,1,1,\n"
    account, claims = read(table.encode("utf-16"), SourceKind.ANALYTICS, "Export _ Main metrics.csv")
    assert analysed(claims[f"{SITE}/a"]) == {"sessions": 12, "views": 30}
    assert account.format == "Matomo pages"
    answer = [{"label": "/a", "nb_visits": 12, "nb_hits": 30, "url": f"{SITE}/a"}]
    _, claims = read(json.dumps(answer), SourceKind.ANALYTICS, "matomo.json")
    assert analysed(claims[f"{SITE}/a"]) == {"sessions": 12, "views": 30}
    _, claims = read(f"Label,URL,Pageviews,Unique Pageviews\n/a,{SITE}/a,12,9\n", SourceKind.ANALYTICS)
    assert analysed(claims[f"{SITE}/a"]) == {"views": 12}


def test_plausible_archive(read: Read, tmp_path: Path) -> None:
    content = zipped(
        tmp_path / "made.zip",
        {
            "visitors.csv": "date,visitors,pageviews\n2026-11-01,5,9\n2026-11-02,5,9\n",
            "pages.csv": "name,visitors,pageviews,bounce_rate,time_on_page\n/a,5,9,50,30\n/b,1,1,,\n",
            "exit_pages.csv": "name,visitors,exits,exit_rate\n/a,5,2,22\n",
            "sources.csv": "name,visitors,bounce_rate\nGoogle,5,20\n",
        },
    )
    account, claims = read(content, SourceKind.ANALYTICS, "plausible.zip")
    assert analysed(claims[f"{SITE}/a"]) == {"users": 5, "views": 9}
    assert analysed(claims[f"{SITE}/b"]) == {"users": 1, "views": 1}
    assert (account.first, account.last) == ("2026-11-01", "2026-11-02")
    assert account.notes == ["it also contains exit_pages.csv, which was not read"]


BACKLINKS = {
    "Ahrefs": (
        "Referring page title\tReferring page URL\tDomain rating\tTarget URL\tAnchor\tFirst seen\tLast seen\n"
        '"A ""good"" one\nin two lines"\thttps://blog.example.net/1\t55\thttps://example.com/a\tshoes'
        "\t2026-01-05\t2026-11-01 00:00:00\n"
        "Other\thttps://blog.example.net/2\t55\thttp://www.example.com/a\tboots\t2025-12-01\t2026-10-01\n"
    ).encode("utf-16"),
    "Majestic": (
        b'"Target URL","Source URL","Anchor Text","Source Crawl Date","Source First Found Date","Source Trust Flow"\n'
        b'"https://example.com/a","https://blog.example.net/1","x","2026-10-01","2020-01-01",12\n'
        b'"https://example.com/a","https://blog.example.net/2","x","2026-10-01","2020-01-01",12\n'
    ),
    "Semrush": (
        b"Page ascore,Source title,Source url,Target url,Anchor,External links,Internal links,First seen,Last seen\n"
        b"30,Blog,https://blog.example.net/1,https://example.com/a,x,10,20,2026-01-05,2026-11-01 00:00:00\n"
        b"31,Blog,https://blog.example.net/2,https://example.com/a,x,10,20,2026-01-05,2026-11-01 00:00:00\n"
    ),
    "Moz": (
        b"URL,Title,Anchor Text,Spam Score,PA,DA,Linking Domains to Page,Target URL,Link Type\n"
        b"blog.example.net/1,Blog,x,1,20,30,4,example.com/a,follow\n"
        b"blog.example.net/2,Blog,x,1,20,30,4,www.example.com/a,nofollow\n"
    ),
    "Search Console": b"Target page,Incoming links,Linking sites\nhttps://example.com/a,2,1\n",
    "Search Console in French": b"Page cible,Liens entrants,Sites d'origine\nhttps://example.com/a,2,1\n",
    "a language nobody taught us": "Síða,Tenglar,Vefir\nhttps://example.com/a,2,1\n".encode(),
    "Semrush API": b"source_url;target_url\nhttps://b.example.net/;https://example.com/a\n"
    b"https://b.example.net/2;https://example.com/a\n",
    "Screaming Frog": (
        b'"Type","Source","Destination","Size (Bytes)","Alt Text","Anchor","Status Code","Follow","Link Path"\n'
        b'"Hyperlink","https://example.com/","https://example.com/a","1","","x","200","true","//body/div/a"\n'
        b'"Hyperlink","https://example.com/b","https://example.com/a","1","","x","200","true","//body/div/a"\n'
    ),
}


KNOWN = ("Ahrefs", "Majestic", "Semrush", "Search Console", "Screaming Frog")


@pytest.mark.parametrize("product", BACKLINKS)
def test_backlinks_are_counted_for_their_targets(product: str, read: Read, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_bytes(BACKLINKS[product])
    account, found = read_export(str(path), SourceKind.BACKLINKS, addresses(), "", lambda url: b"")
    claims = list(found)
    assert {claim.url for claim in claims} == {f"{SITE}/a"}
    assert sum(claim.links for claim in claims) == 2
    assert product not in KNOWN or account.format.startswith(product)
    if product == "Ahrefs":
        assert (account.first, account.last) == ("2025-12-01", "2026-11-01")


@pytest.mark.parametrize(
    "content",
    [
        f"{SITE}/a\n{SITE}/b,c\n",
        f"\ufeff# our pages\r\n\r\n{SITE}/a\r\n\r\n# more\r\n{SITE}/b,c",
        f"URL\n{SITE}/a\n{SITE}/b,c\n",
        "/a\n/b,c\n",
        "example.com/a\nwww.example.com/b,c\n",
        f"{SITE}/a\t7\n{SITE}/b,c\t8\n",
        f'sep=;\r\nseite;zahl\r\n"{SITE}/a";1,5\r\n{SITE}/b,c;2,5\r\n',
        f'id,Adresse,Titel\n1,{SITE}/a,Ä\n2,"{SITE}/b,c",Ö\n',
        f"foo|bar\nx|{SITE}/a\ny|{SITE}/b,c\n",
        json.dumps([f"{SITE}/a", f"{SITE}/b,c"]),
        json.dumps([f"{SITE}/a", f"{SITE}/b,c"], indent=4),
        json.dumps({"urls": [{"loc": f"{SITE}/a"}, {"loc": "/b,c"}]}),
        f'"{SITE}/a"\n"{SITE}/b,c"\n',
        f'{{"u": "{SITE}/a", "n": 1}}\n\n{{"u": "{SITE}/b,c", "x": null}}\n',
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_ours_lists_in_any_shape(content: str, pack: Callable[[bytes], bytes], read: Read) -> None:
    account, claims = read(pack(content.encode()), SourceKind.LIST, "urls")
    assert sorted(claims) == [f"{SITE}/a", f"{SITE}/b,c"]
    assert account.used == account.rows == 2
    assert account.complete


def test_ours_a_column_by_name_or_number(read: Read) -> None:
    table = f"old,new\n{SITE}/a,{SITE}/b\n"
    assert list(read(table, SourceKind.LIST)[1]) == [f"{SITE}/a"]
    assert list(read(table, SourceKind.LIST, column="NEW")[1]) == [f"{SITE}/b"]
    assert list(read(table, SourceKind.LIST, column="2")[1]) == [f"{SITE}/b"]


def test_screaming_frog_internal_pages(read: Read) -> None:
    account, claims = read(
        '"Internal - All"\n"Address","Content Type","Status Code","Status","Indexability","Indexability Status"\n'
        f'"{SITE}/a","text/html; charset=UTF-8","200","OK","Indexable",""\n'
        f'"{SITE}/n","text/html","200","OK","Non-Indexable","noindex"\n'
        f'"{SITE}/m","text/html","404","Not Found","Non-Indexable","Client Error"\n'
        f'"{SITE}/s.css","text/css","200","OK","Indexable",""\n'
        f'"{SITE}/api","application/json","200","OK","Indexable",""\n',
        SourceKind.CRAWL,
    )
    assert list(claims) == [f"{SITE}/a"]
    assert claims[f"{SITE}/a"].status == 200
    assert (account.format, account.used, account.beside, account.rows) == ("Screaming Frog", 1, 4, 5)
    assert "4 of its URLs" in account.notes[0]


def test_another_crawler_in_a_language_nobody_taught_us(read: Read) -> None:
    account, claims = read(
        "Heimilisfang,Gerð,Svar,Orð\n"
        f"{SITE}/a,text/html,200,312\n{SITE}/m,text/html,404,112\n{SITE}/x,application/x-y,200,0\n",
        SourceKind.CRAWL,
    )
    assert list(claims) == [f"{SITE}/a"]
    assert account.beside == 2
    _, claims = read(f"page,status,words\n{SITE}/a,live,312\n{SITE}/b,draft,150\n", SourceKind.CRAWL)
    assert sorted(claims) == [f"{SITE}/a", f"{SITE}/b"]


def test_scrapy_and_advertools_lines(read: Read) -> None:
    lines = [
        {"url": f"{SITE}/a", "title": "A", "status": 200, "depth": 0, "resp_headers_Content-Type": "text/html"},
        {"url": f"{SITE}/m", "status": 404, "depth": 1, "redirect_urls": [f"{SITE}/r"]},
    ]
    account, claims = read("".join(json.dumps(each) + "\n" for each in lines), SourceKind.CRAWL, "crawl.jl")
    assert list(claims) == [f"{SITE}/a"]
    assert (account.format, account.beside) == ("Scrapy", 1)


def test_ours_urls_are_fetched_by_whoever_was_given(tmp_path: Path) -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return gzip.compress(f"{SITE}/a\n".encode())

    name = "https://files.example.net/list"
    account, claims = read_export(name, SourceKind.LIST, addresses(), "", fetch)
    assert [claim.url for claim in claims] == [f"{SITE}/a"]
    assert asked == [name]
    assert account.bytes < 100


def test_ahrefs_referring_domains_are_no_links(read: Read) -> None:
    table = f'"URL Rating","Page URL","Referring domains","Dofollow","Nofollow"\n"12","{SITE}/a","7","5","2"\n'
    _, claims = read(table, SourceKind.BACKLINKS)
    assert (claims[f"{SITE}/a"].domains, claims[f"{SITE}/a"].links) == (7, 0)
    _, claims = read(f"Target page,Incoming links,Linking sites\n{SITE}/a,55,12\n", SourceKind.BACKLINKS)
    assert (claims[f"{SITE}/a"].domains, claims[f"{SITE}/a"].links) == (12, 55)


@pytest.mark.parametrize(
    "table",
    [
        (
            f"Referring page URL,Target URL,Domain "
            f"rating\nhttps://x.example/,{SITE}/a,45\nhttps://y.example/,{SITE}/a,45\n"
        ),
        f"Page d'origine,Page cible,Nombre\nhttps://x.example/,{SITE}/a,45\nhttps://y.example/,{SITE}/a,45\n",
        f"Target URL,Domain rating\n{SITE}/a,45\n{SITE}/a,45\n",
    ],
)
def test_ours_a_column_that_says_something_else_is_no_number_of_links(read: Read, table: str) -> None:
    _, claims = read(table, SourceKind.BACKLINKS)
    assert claims[f"{SITE}/a"].links == 1  # in each of the rows


def test_search_console_page_indexing_tells_the_issue_and_when_each_page_was_crawled(
    read: Read, tmp_path: Path
) -> None:
    content = zipped(
        tmp_path / "made.zip",
        {
            "Table.csv": f"URL,Last crawled\n{SITE}/a,2026-10-30\n{SITE}/b,\n",
            "Chart.csv": "Date,Affected pages\n2026-08-01,2\n2026-11-01,2\n",
            "Metadata.csv": "Property,Value\nIssue,Crawled - currently not indexed\nSitemap,All known pages\n",
        },
    )
    account, claims = read(content, SourceKind.SEARCH, "Coverage-Drilldown.zip")
    assert (claims[f"{SITE}/a"].first, claims[f"{SITE}/a"].last) == ("2026-10-30", "2026-10-30")
    assert (claims[f"{SITE}/b"].first, claims[f"{SITE}/b"].last) == ("", "")
    assert account.format == "Search Console page indexing"
    assert account.about == "Crawled - currently not indexed"
    assert account.notes == ['it states this issue for all its URLs: "Crawled - currently not indexed"']


@pytest.mark.parametrize(
    ("content", "given", "meant"),
    [
        (f"Top pages,Clicks,Impressions,CTR,Position\n{SITE}/a,1,2,5%,3\n", SourceKind.ANALYTICS, "search"),
        ("Page path and screen class,Views,Active users\n/a,88,70\n", SourceKind.SEARCH, "analytics"),
        ("name,visitors,pageviews,bounce_rate\n/a,12,20,5\n", SourceKind.SEARCH, "analytics"),
    ],
)
def test_ours_what_a_console_says_is_not_taken_for_what_analytics_count(
    content: str, given: SourceKind, meant: str, read: Read
) -> None:
    with pytest.raises(UsageError, match=rf"is a [A-Z].* export\. Give the file with --{meant}$"):
        read(content, given)
