"""What is known of a site besides its pages: access logs in several formats, and exports of other tools."""

import csv
import io
import json
import random
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36"
)
PEOPLE = (
    CHROME,
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0",
)
AGENTS = {
    "google": ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",),
    "bing": ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",),
    "seo": ("Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",),
    "scanner": ("Mozilla/5.0 zgrab/0.x", "python-requests/2.32.3", CHROME, "curl/8.5.0"),
    "monitor": ("Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)",),
    "health": ("ELB-HealthChecker/2.0", "kube-probe/1.30"),
    "people": PEOPLE,
}
FORMATS = ("combined", "vhost", "json", "w3c", "cloudfront", "alb")


@dataclass(frozen=True)
class Hit:
    """One request in a log."""

    target: str
    who: str = "people"
    status: int = 200
    method: str = "GET"
    days_ago: int = 3
    referrer: str = ""


@dataclass
class Sources:
    """All that a trial hands to the audit besides the site."""

    hits: list[Hit] = field(default_factory=list)
    search: dict[str, tuple[int, int]] = field(default_factory=dict)  # target → clicks, impressions
    analytics: dict[str, int] = field(default_factory=dict)  # target → views
    backlinks: dict[str, int] = field(default_factory=dict)  # target → links
    names: list[str] = field(default_factory=list)

    def visits(self, target: str, count: int, who: str = "people", status: int = 200, method: str = "GET",
               days_ago: int = 3, referrer: str = "") -> None:  # fmt: skip
        self.hits += [Hit(target, who, status, method, days_ago, referrer)] * count

    def answer_softly(self, pages: Iterable[str]) -> None:
        """Let the logs say that the site answers 200 where nothing is."""
        there = set(pages)
        self.hits = [hit if hit.status != 404 or hit.target in there else replace(hit, status=200) for hit in self.hits]

    def write(self, folder: Path, url: str, dice: random.Random) -> list[str]:
        """The files, and the words of the command that name them."""
        words: list[str] = []
        if self.hits:
            for name, text in _logs(self.hits, url, dice):
                (folder / name).write_text(text)
                words += ["--log", name]
        if self.search:
            words += ["--search", _search(folder, self.search, url, dice)]
        if self.analytics:
            words += ["--analytics", _analytics(folder, self.analytics, url, dice)]
        if self.backlinks:
            words += ["--backlinks", _backlinks(folder, self.backlinks, url, dice)]
        if self.names:
            (folder / "urls.txt").write_text("".join(f"{urljoin(url, name)}\n" for name in self.names))
            words += ["--list", "urls.txt"]
        return words


def _logs(hits: list[Hit], url: str, dice: random.Random) -> Iterable[tuple[str, str]]:
    now = datetime.now(UTC)
    timed = [(now - timedelta(days=hit.days_ago, seconds=dice.randrange(86_000)), hit) for hit in hits]
    timed.sort(key=lambda each: each[0])
    formats = dice.sample(FORMATS, dice.choice((1, 1, 2)))
    parts: dict[str, list[tuple[datetime, Hit]]] = {name: [] for name in formats}
    for each in timed:
        parts[dice.choice(formats)].append(each)
    for name, rows in parts.items():
        if rows:
            yield f"access-{name}.log", _HEADS.get(name, "") + "".join(_line(name, *row, url, dice) for row in rows)


_HEADS = {
    "w3c": "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n#Fields: date time s-ip cs-method"
    " cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus"
    " sc-win32-status time-taken\n",
    "cloudfront": "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem"
    " sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id"
    " x-host-header cs-protocol cs-bytes time-taken\n",
}


def _line(form: str, when: datetime, hit: Hit, url: str, dice: random.Random) -> str:
    agent = dice.choice(AGENTS[hit.who])
    address = f"{dice.choice((81, 93, 145))}.{dice.randrange(256)}.{dice.randrange(256)}.7"
    host = urlsplit(url).hostname or ""
    scheme = urlsplit(url).scheme
    size = 5123 if hit.status == 200 else 312
    path, _, query = hit.target.partition("?")
    referrer = hit.referrer or "-"
    common = f'{address} - - [{when:%d/%b/%Y:%H:%M:%S} +0000] "{hit.method} {hit.target} HTTP/1.1" {hit.status} {size}'
    if form == "combined":
        return f'{common} "{referrer}" "{agent}"\n'
    if form == "vhost":
        return f'{host}:{443 if scheme == "https" else 80} {common} "{referrer}" "{agent}"\n'
    if form == "json":
        row = {"time": when.isoformat(), "remote_addr": address, "host": host, "request_method": hit.method,
               "request_uri": hit.target, "status": hit.status, "body_bytes_sent": size,
               "http_referer": hit.referrer, "http_user_agent": agent}  # fmt: skip
        return json.dumps(row) + "\n"
    if form == "w3c":
        return (
            f"{when:%Y-%m-%d %H:%M:%S} 10.0.0.4 {hit.method} {path} {query or '-'} 443 - {address}"
            f" {agent.replace(' ', '+')} {referrer} {hit.status} 0 0 15\n"
        )
    if form == "cloudfront":
        return "\t".join((
            f"{when:%Y-%m-%d}", f"{when:%H:%M:%S}", "FRA56-P1", str(size), address, hit.method, "d1.cloudfront.net",
            path, str(hit.status), referrer, quote(agent, safe="/:;,+()"), query or "-", "-", "Miss", "a1b2c3==",
            host, scheme, "311", "0.012",
        )) + "\n"  # fmt: skip
    port = 443 if scheme == "https" else 80
    return (
        f"{scheme} {when:%Y-%m-%dT%H:%M:%S.%fZ} app/web/50dc6c495c0c9188 {address}:2817 10.0.0.66:80 0.000 0.001 0.000"
        f' {hit.status} {hit.status} 34 {size} "{hit.method} {scheme}://{host}:{port}{hit.target} HTTP/1.1" "{agent}" -'
        " - arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/web/73e2d6bc24d8a067"
        f' "Root=1-58337262-36d228ad5d99923122bbe354" "{host}" "-" 0 {when:%Y-%m-%dT%H:%M:%S.%fZ} "forward" "-" "-"'
        f' "10.0.0.66:80" "{hit.status}" "-" "-"\n'
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _search(folder: Path, search: dict[str, tuple[int, int]], url: str, dice: random.Random) -> str:
    rows = [
        (urljoin(url, target), clicks, shown, f"{clicks / max(1, shown):.2%}", "8.4")
        for target, (clicks, shown) in search.items()
    ]
    form = dice.choice(("csv", "zip", "json"))
    if form == "json":
        listed = [
            {"keys": [row[0]], "clicks": row[1], "impressions": row[2], "ctr": 0.1, "position": 8.4} for row in rows
        ]
        (folder / "search.json").write_text(json.dumps({"rows": listed, "responseAggregationType": "byPage"}))
        return "search.json"
    table = _table(("Top pages", "Clicks", "Impressions", "CTR", "Position"), rows)
    if form == "csv":
        (folder / "Pages.csv").write_text(table)
        return "Pages.csv"
    with zipfile.ZipFile(folder / "search.zip", "w") as archive:
        archive.writestr("Queries.csv", "Top queries,Clicks,Impressions,CTR,Position\nboats,3,40,7.5%,9\n")
        archive.writestr("Pages.csv", table)
    return "search.zip"


def _analytics(folder: Path, views: dict[str, int], url: str, dice: random.Random) -> str:
    if dice.random() < 0.5:
        head = "# ----------------------------------------\n# Pages and screens\n# Start date: 20260901\n"
        head += "# End date: 20261101\n# ----------------------------------------\n"
        table = _table(
            ("Page path and screen class", "Views", "Active users", "Views per active user"),
            [(target, count, max(1, count // 2), "2.0") for target, count in views.items()],
        )
        (folder / "ga4.csv").write_text(head + table)
        return "ga4.csv"
    table = _table(("Name", "Visitors", "Pageviews"), [(target, count, count) for target, count in views.items()])
    (folder / "plausible-pages.csv").write_text(table.lower().splitlines()[0] + "\n" + table.partition("\n")[2])
    return "plausible-pages.csv"


def _backlinks(folder: Path, links: dict[str, int], url: str, dice: random.Random) -> str:
    if dice.random() < 0.5:
        rows = [(urljoin(url, target), count, count) for target, count in links.items()]
        (folder / "Top target pages.csv").write_text(_table(("Target page", "Incoming links", "Linking sites"), rows))
        return "Top target pages.csv"
    pairs = [
        (61, f"https://blog{number}.example.org/post-{number}", urljoin(url, target), "Boats", "Dofollow")
        for target, count in links.items()
        for number in range(count)
    ]
    head = ("Domain rating", "Referring page URL", "Target URL", "Anchor", "Type")
    (folder / "ahrefs-backlinks.csv").write_text(_table(head, pairs))
    return "ahrefs-backlinks.csv"
