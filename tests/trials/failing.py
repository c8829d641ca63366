"""Trials of the certainty of findings: drawn sites, some pages of which fail, and what is true of the whole sites.

A finding about links holds if it is true of the site as it would answer without failures: the truth is found from the
links that the site was made with, not by an audit.

::

    python -m tests.trials.failing [--seeds 100] [--first 0] [--shares 0.001,0.01,0.05,0.2] [--second] [--wrong]
"""

import argparse
import asyncio
import random
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from crawler import audit_site, configured

SHARES = (0.001, 0.01, 0.05, 0.2)
MAX_CLICKS = 5
ORPHAN, DEEP, FEW = "orphan", "reach.deep", "reach.few"
RULES = ("weak.nofollow", "weak.noindex", "weak.redirect", DEEP, FEW)
FAILURES = ("500", "503", "abort")
WORDS = (
    *("river", "stone", "harbour", "market", "engine", "copper", "window"),
    *("garden", "signal", "method", "winter", "paper", "bridge", "orchard"),
)


@dataclass
class Leaf:
    """A page and its links; what it links to by nofollow is in ``nofollow``."""

    links: list[str] = field(default_factory=list)
    nofollow: list[str] = field(default_factory=list)
    noindex: bool = False
    target: str = ""  # it redirects there


@dataclass
class Grown:
    """A site: its pages by path, and the paths that its sitemap lists and its log has."""

    pages: dict[str, Leaf] = field(default_factory=lambda: {"/": Leaf()})
    listed: set[str] = field(default_factory=set)
    visited: set[str] = field(default_factory=set)

    def add(self, path: str, *links: str) -> Leaf:
        return self.pages.setdefault(path, Leaf([*links]))

    def link(self, source: str, *targets: str) -> None:
        self.pages[source].links += targets


def grow(dice: random.Random) -> Grown:
    """A site of one to eight sections, each built in one of several ways, with orphans and the like in it."""
    site = Grown()
    size = dice.choice([60, 150, 400, 900])
    sections = dice.randrange(1, 9)
    shape = dice.choice(["slash", "html", "flat", "dated", "query"])
    has_menu, has_trail = dice.random() < 0.7, dice.random() < 0.7
    related, has_next = dice.choice([0, 0, 1, 3]), dice.random() < 0.4
    tops = []
    for number in range(sections):
        top = _top(shape, number)
        tops.append(top)
        site.add(top, "/")
        articles = [_article(shape, number, each) for each in range(size // sections)]
        lists = _lists(dice, site, top, shape, number, articles)
        for place, path in enumerate(articles):
            leaf = site.add(path, "/")
            if has_trail:
                leaf.links.append(dice.choice(lists) if dice.random() < 0.2 else top)
            leaf.links += dice.sample(articles, min(related, len(articles)))
            if has_next and place + 1 < len(articles):
                leaf.links.append(articles[place + 1])
    site.link("/", *tops)
    if has_menu:
        for leaf in site.pages.values():
            leaf.links += tops
    normal = [path for path in site.pages if path != "/"]
    _plant(dice, site, normal, shape)
    site.listed |= {path for path in normal if dice.random() < dice.choice([1, 0.9])}
    site.visited |= set(dice.sample(normal, len(normal) // 3))
    return site


def _top(shape: str, number: int) -> str:
    word = f"{WORDS[number % len(WORDS)]}{number if number >= len(WORDS) else ''}"
    return {"html": f"/{word}/index.html", "flat": f"/{word}", "query": f"/list?section={number}"}.get(
        shape, f"/{word}/"
    )


def _article(shape: str, section: int, number: int) -> str:
    name = f"{WORDS[number % len(WORDS)]}-{WORDS[number * 7 // 3 % len(WORDS)]}-{number}"
    directory = WORDS[section % len(WORDS)]
    match shape:
        case "flat":
            return f"/{directory}-{name}"
        case "dated":
            return f"/{2015 + number % 10}/{1 + number % 12:02}/{name}-{section}/"
        case "query":
            return f"/item?id={section * 10_000 + number}"
        case "html":
            return f"/{directory}/{name}.html"
    return f"/{directory}/{name}/"


def _lists(dice: random.Random, site: Grown, top: str, shape: str, section: int, articles: list[str]) -> list[str]:
    """The lists of a section: its top alone, pages of a list, or categories below the top. Returns their paths."""
    how = dice.choice(["one", "pages", "categories", "twice"])
    if how == "one":
        site.link(top, *articles)
        return [top]
    many = max(2, len(articles) // dice.choice([8, 20, 40]))
    base = top if top.endswith("/") else f"{top.removesuffix('index.html').rstrip('/')}/"
    mark = "&" if "?" in top else "?"
    if how == "pages":
        lists = [top, *(f"{top}{mark}page={number}" for number in range(2, many + 1))]
        for before, after in pairwise(lists):
            site.add(after, top, "/")
            site.link(before, after)
    else:
        lists = [
            f"{top}&kind={number}" if "?" in top else f"{base}{WORDS[number % len(WORDS)]}-kind{number // len(WORDS)}/"
            for number in range(many)
        ]
        for path in lists:
            site.add(path, top, "/")
        site.link(top, *lists)
    for number, path in enumerate(articles):
        site.link(lists[number * len(lists) // len(articles)], path)
        if how == "twice":
            site.link(dice.choice(lists), path)
    return lists


def _plant(dice: random.Random, site: Grown, normal: list[str], shape: str) -> None:
    """Orphans, islands, weakly linked and deep pages, and pages with one link."""
    for number in range(dice.randrange(1, 2 + len(normal) // 15)):
        path = _article(shape, dice.randrange(8), 5_000 + number)
        site.add(path, "/", *dice.sample(normal, min(2, len(normal))))
        kind = dice.choice(["listed", "visited", "island", "nofollow", "noindex", "deep", "few", "redirect"])
        (site.listed if kind != "visited" else site.visited).add(path)
        match kind:
            case "island":
                other = f"{path}-b" if "?" in path else _article(shape, 7, 7_000 + number)
                site.add(other, path)
                site.link(path, other)
                site.listed.add(other)
            case "nofollow":
                site.pages[dice.choice(normal)].nofollow.append(path)
            case "noindex":
                hidden = _article(shape, 6, 8_000 + number)
                site.add(hidden, path).noindex = True
                site.link(dice.choice(normal), hidden)
            case "deep":
                before = dice.choice(normal)
                for step in range(6):
                    after = _article(shape, 5, 9_000 + number * 10 + step)
                    site.add(after, "/")
                    site.link(before, after)
                    before = after
                site.link(before, path)
            case "few":
                site.link(dice.choice(normal), path)
            case "redirect":
                hop = _article(shape, 4, 6_000 + number)
                site.add(hop).target = path
                site.link(dice.choice(normal), hop)


def truth(site: Grown) -> dict[str, set[str]]:
    """The paths that each rule is true of, if every page answers; all kinds of orphans are one."""
    pages = site.pages

    def end(path: str) -> str:
        return pages[path].target or path

    reached, queue, depth = {"/"}, ["/"], {"/": 0}
    while queue:
        path = queue.pop()
        leaf = pages[path]
        for target in (*leaf.links, *leaf.nofollow, *([leaf.target] if leaf.target else [])):
            if target not in reached:
                reached.add(target)
                queue.append(target)
    level = ["/"]
    while level:
        clicks = depth[level[0]] + 1
        below = [end(target) for path in level for target in pages[path].links]
        level = [path for path in dict.fromkeys(below) if path not in depth]
        depth |= dict.fromkeys(level, clicks)
    followed: dict[str, set[str]] = {}
    for source in reached:
        if not pages[source].noindex:
            for target in pages[source].links:
                if target != source:
                    followed.setdefault(target, set()).add(source)
    weak = {path for path in reached - followed.keys() - {"/"} if not pages[path].noindex and not pages[path].target}
    by_nofollow = {target for path in reached for target in pages[path].nofollow}
    by_noindex = {target for path in reached if pages[path].noindex for target in pages[path].links}
    by_redirect = {pages[path].target for path in reached}
    return {
        ORPHAN: {path for path in pages if path not in reached},
        "weak.redirect": weak & by_redirect,
        "weak.noindex": weak & by_noindex - by_redirect,
        "weak.nofollow": weak & by_nofollow - by_noindex - by_redirect,
        FEW: {path for path, sources in followed.items() if len(sources) == 1},
        DEEP: {path for path in followed if depth.get(path, 0) > MAX_CLICKS},
    }


class _Connection(asyncio.Protocol):
    """Answers from memory; the paths in ``failing`` fail as their value says."""

    def __init__(self, answers: dict[str, bytes], failing: dict[str, str], open_: set[asyncio.Transport]) -> None:
        self._answers = answers
        self._failing = failing
        self._open = open_
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            path = request.split(b" ", 2)[1].decode()
            if (how := self._failing.get(path)) == "abort":
                self._transport.abort()
            elif how:
                self._transport.write(_answer(f"{how} Failed", b"failed"))
            else:
                self._transport.write(self._answers.get(path) or _answer("404 Not Found", b"gone"))


def _answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def _answers(site: Grown, origin: str) -> dict[str, bytes]:
    xml = "".join(f"<url><loc>{origin}{path.replace('&', '&amp;')}</loc></url>" for path in sorted(site.listed))
    xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{xml}</urlset>'
    answers = {"/sitemap.xml": _answer("200 OK", xml.encode(), "Content-Type: text/xml")}
    for path, leaf in site.pages.items():
        if leaf.target:
            answers[path] = _answer("301 Moved", b"", f"Location: {origin}{leaf.target}")
            continue
        body = f"<!doctype html><title>{path}</title>{'<meta name=robots content=noindex>' if leaf.noindex else ''}"
        body += "".join(f'<p><a href="{link}">{link}</a>' for link in leaf.links)
        body += "".join(f'<p><a rel=nofollow href="{link}">{link}</a>' for link in leaf.nofollow)
        body += f"<p>The page {path} has a text of its own."
        answers[path] = _answer("200 OK", body.encode(), "Content-Type: text/html; charset=utf-8")
    return answers


@contextmanager
def serving(site: Grown, failing: dict[str, str]) -> Iterator[str]:
    """Serve a site in another thread; yields its origin. ``failing`` may be changed meanwhile."""
    loop = asyncio.new_event_loop()
    answers: dict[str, bytes] = {}
    transports: set[asyncio.Transport] = set()
    create = loop.create_server(lambda: _Connection(answers, failing, transports), "127.0.0.1", 0)
    server = loop.run_until_complete(create)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    answers.update(_answers(site, origin))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield origin
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for transport in transports:
            transport.abort()
        loop.run_until_complete(asyncio.sleep(0))  # abort closes a socket in the next round of the loop
        loop.close()


@dataclass
class Result:
    """The findings about links by certainty: how many are true and false; and the false ones that are not open."""

    name: str
    right: Counter[str]
    wrong: Counter[str]
    mistakes: list[str]


def trial(seed: int, share: float, is_second: bool) -> Result:
    """Audit a drawn site with this share of failing pages; ``is_second``: after an audit without failures."""
    dice = random.Random(f"{seed} {share}")
    site = grow(random.Random(seed))
    linked = [path for path in site.pages if path != "/"]
    chosen = dice.sample(linked, max(bool(share), round(share * len(linked))))
    failing: dict[str, str] = {}
    result = Result(f"{seed} {share}", Counter(), Counter(), [])
    with tempfile.TemporaryDirectory() as folder, serving(site, failing) as origin:
        log = Path(folder, "access.log")
        log.write_text("".join(_line(number, path) for path in sorted(site.visited) for number in range(6)))
        config = configured(
            site={"url": f"{origin}/"},
            state={"directory": f"{folder}/state"},
            fetch={"retries": 0},
            pace={"rate": 0},
            parse={"processes": 1},
            audit={"logs": [str(log)], "max_clicks": MAX_CLICKS, "max_crawl_age": 0},
        )
        if is_second:
            with audit_site(config):
                pass
        failing |= {path: dice.choice(FAILURES) for path in chosen}
        true = truth(site)
        with audit_site(config) as (report, findings):
            for rule in (count.rule for count in report.counts):
                family = ORPHAN if rule.startswith("orphan.") else rule
                if family not in true:
                    continue
                for finding in findings(rule):
                    path = finding.url.removeprefix(origin)
                    is_true = path in true[family]
                    (result.right if is_true else result.wrong)[finding.certainty] += 1
                    if not is_true and not finding.is_open:
                        result.mistakes.append(f"{seed} {share} {rule} {path} ({finding.certainty})")
    return result


def _line(number: int, path: str) -> str:
    when = f"{1 + number:02}/Nov/2026:10:00:00 +0000"
    return f'192.0.2.{number} - - [{when}] "GET {path} HTTP/1.1" 200 512 "-" "Mozilla/5.0 Firefox/128.0"\n'


def precision(results: Sequence[Result], certainty: str) -> tuple[int, float]:
    """How many findings have a certainty, and the share of them that are true."""
    right, wrong = sum(each.right[certainty] for each in results), sum(each.wrong[certainty] for each in results)
    return right + wrong, right / (right + wrong) if right + wrong else 1.0


def main() -> None:
    """Draw sites, and print the precision of each certainty by the share of failing pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--second", action="store_true", help="audit the whole site before: all links are known")
    parser.add_argument("--wrong", action="store_true", help="name the false findings that are not inconclusive")
    args = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        for share in map(float, args.shares.split(",")):
            run = partial(trial, share=share, is_second=args.second)
            results = list(pool.map(run, range(args.first, args.first + args.seeds)))
            figures = (
                f"{name} {count:,} of which {of:.4f} are true"
                for name in ("certain", "likely", "inconclusive")
                for count, of in [precision(results, name)]
            )
            print(f"{share:.1%} of the pages fail: {'; '.join(figures)}", flush=True)
            for result in results if args.wrong else ():
                print(*result.mistakes, sep="\n", end="\n" * bool(result.mistakes))


if __name__ == "__main__":
    main()
