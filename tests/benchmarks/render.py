"""The benchmark of sites that are drawn in part by scripts: our ``--render auto`` beside Crawlee's adaptive crawler.

::

    python -m tests.benchmarks.render [--pages 1000] [--drawn 100] [--rounds 3] [-c 8]

The site is made here, and nginx serves it on the loopback address. Five templates come from the server: their scripts
change nothing that counts. Two templates are drawn by a script from data that it fetches. Half of the drawn pages are
linked from drawn pages only, so a crawler that does not render does not find them. Both crawlers use the same Chromium,
without a limit on the rate. npm installs Crawlee. Told are the pages found, the pages opened in the browser, pages a
second from start to end of the command, the ratio within a round, and the processor time of the whole machine: leave it
idle. Two more rows show what a page costs raw and rendered; ``never`` does not find what only scripts link.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from crawler.render.browser import find_browser
from sitemap import read
from tests.benchmarks.measure import CommandFailed, measure
from tests.benchmarks.tables import table
from tests.madesite import prose
from tests.nginx import nginx

SENT, DRAWN = ("article", "product", "author", "help"), ("review", "offer")
ON_A_LIST = 50
PACKAGES = ("crawlee@3", "playwright@1")
RULES = "location / { try_files $uri $uri.html =404; } location = / { try_files /index.html =404; } " + " ".join(
    f"location /{name}/ {{ try_files /{name}.html =404; }}" for name in DRAWN
)
# The script of the pages that the server sends: it counts a visit, and changes no text.
SITE_JS = 'document.documentElement.classList.add("ready"); localStorage.visits = 1 + Number(localStorage.visits || 0);'
APP_JS = """
fetch("/api" + location.pathname + ".json").then((answer) => answer.json()).then((page) => {
  document.title = page.title;
  const links = page.links.map((href) => `<li><a href="${href}">${href}</a></li>`).join("");
  document.querySelector("main").innerHTML = `<h1>${page.title}</h1><p>${page.text}</p><ul>${links}</ul>`;
});
"""
NAVIGATION = '<nav><a href="/">Home</a> <a href="/list/1">All</a></nav>'


class Found(NamedTuple):
    """What one run of a crawler found and took."""

    pages: set[str]
    rendered: int
    seconds: float
    cpu: float  # seconds of the whole machine: the processes of a browser outlive who waits for them


def sent_page(title: str, text: str, links: Sequence[str]) -> str:
    items = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<script src="/site.js" defer></script></head><body>{NAVIGATION}<main><h1>{title}</h1><p>{text}</p>'
        f"<ul>{items}</ul></main></body></html>"
    )


def make_site(root: Path, pages: int, drawn: int) -> set[str]:
    """Write a site of so many pages, so many of them drawn by a script; returns their paths."""
    rng = random.Random(1)
    for folder in (*SENT, "list", *(f"api/{name}" for name in DRAWN)):
        (root / folder).mkdir(parents=True)
    (root / "site.js").write_text(SITE_JS)
    (root / "app.js").write_text(APP_JS)
    (root / "robots.txt").write_text("User-agent: *\nAllow: /\n")
    shell = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head><body><main></main>'
    for name in DRAWN:
        (root / f"{name}.html").write_text(f'{shell}<script src="/app.js"></script></body></html>')
    by_script = [f"/{DRAWN[n % len(DRAWN)]}/{n}" for n in range(drawn)]
    sent = [f"/{SENT[n % len(SENT)]}/{n}" for n in range(pages - drawn)]
    listed = [*sent, *by_script[::2]]
    for number, path in enumerate(sent):
        links = [sent[(number + step) % len(sent)] for step in (1, 7, 31)]
        (root / f"{path[1:]}.html").write_text(sent_page(f"Page {number}", prose(rng, 150), links))
    for number, path in enumerate(by_script):
        links = [by_script[(number + 1) % drawn], sent[number % len(sent)]]
        data = {"title": f"Drawn {number}", "text": prose(rng, 150), "links": links}
        (root / "api" / f"{path[1:]}.json").write_text(json.dumps(data))
    lists = [listed[at : at + ON_A_LIST] for at in range(0, len(listed), ON_A_LIST)]
    for number, links in enumerate(lists, 1):
        following = [f"/list/{number + 1}"] if number < len(lists) else []
        (root / "list" / f"{number}.html").write_text(
            sent_page(f"All, page {number}", prose(rng, 30), [*links, *following])
        )
    (root / "index.html").write_text(sent_page("Home", prose(rng, 60), ["/list/1", *sent[:5]]))
    return {"/", *(f"/list/{number}" for number in range(1, len(lists) + 1)), *sent, *by_script}


def crawl_with_ours(url: str, folder: Path, concurrency: int, mode: str = "auto") -> Found:
    words = ["crawl", url, "-o", "out", "--state", "state", "--fresh", "--json", "--render", mode]
    pace = [
        "--rate",
        "0",
        "-c",
        str(concurrency),
        f"--set=render.concurrency={concurrency}",
        "--set=render.sandbox=false",
    ]
    command = [sys.executable, "-P", "-m", "crawler", *words, *pace]
    cost = measure(["sh", "-c", 'exec "$@" > report.json', "sh", *command], folder, 1800.0)
    notes = "\n".join(json.loads((folder / "report.json").read_bytes())["notes"])
    counts = re.search(r"([\d,]+) pages? rendered .* ([\d,]+) read both ways", notes)
    rendered = sum(int(count.replace(",", "")) for count in counts.groups()) if counts else 0
    return Found(
        {entry.loc for entry in read(folder / "out" / "sitemap.xml")}, rendered, cost.wall, cost.cpu + cost.elsewhere
    )


def crawl_with_crawlee(url: str, folder: Path, concurrency: int) -> Found:
    chromium = find_browser("")  # the same for both
    script = [str(Path(__file__).with_name("crawlee_site.mjs").name), url, "result.json", str(concurrency), chromium]
    cost = measure(["node", *script], folder, 1800.0)
    result = json.loads((folder / "result.json").read_bytes())
    return Found(set(result["pages"]), result["rendered"], cost.wall, cost.cpu + cost.elsewhere)


def install_crawlee(folder: Path) -> None:
    """Crawlee with its script in a folder. Raises CommandFailed."""
    (folder / "package.json").write_text('{"name": "peer", "private": true}')
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts", *PACKAGES]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise CommandFailed(f"{' '.join(command)}\n{ended.stderr[-1000:]}")
    shutil.copy(Path(__file__).with_name("crawlee_site.mjs"), folder)


def compare(options: argparse.Namespace, folder: Path) -> str:
    """Run all rounds; the measurements as a table. Raises CommandFailed."""
    site, peer = folder / "site", folder / "peer"
    paths = make_site(site, options.pages, options.drawn)
    peer.mkdir()
    install_crawlee(peer)
    crawls = {
        "siteatlas --render auto": (crawl_with_ours, folder),
        "Crawlee (adaptive)": (crawl_with_crawlee, peer),
        "siteatlas --render never": (partial(crawl_with_ours, mode="never"), folder),
        "siteatlas --render always": (partial(crawl_with_ours, mode="always"), folder),
    }
    runs: dict[str, list[Found]] = {name: [] for name in crawls}
    with nginx(site, RULES) as server:
        truth = {server.url.rstrip("/") + path for path in paths}
        for _ in range(options.rounds):
            for name, (crawl, where) in crawls.items():
                runs[name].append(crawl(server.url, where, options.concurrency))
    first = next(iter(runs.values()))
    rows = []
    for name, founds in runs.items():
        speeds = [len(found.pages) / found.seconds for found in founds]
        faster = [len(ours.pages) / ours.seconds / speed for ours, speed in zip(first, speeds, strict=True)]
        rendered = median(found.rendered for found in founds)
        missed = sum(len(truth ^ found.pages) for found in founds)
        speed = f"{median(speeds):.1f} ({min(speeds):.1f} to {max(speeds):.1f})"
        rows.append([name, f"{len(founds[0].pages):,} of {len(truth):,}", str(missed), f"{rendered:,.0f}", speed])
        rows[-1] += [f"{median(faster):.2f}", f"{median(found.cpu / len(found.pages) for found in founds) * 1000:,.0f}"]
    heads = [
        "command",
        "pages found",
        "wrong in all rounds",
        "rendered",
        "pages/s",
        "auto is faster by",
        "CPU ms a page",
    ]
    return table(heads, rows)


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark. Exit code 1 when a command failed."""
    parser = argparse.ArgumentParser(
        "python -m tests.benchmarks.render", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1000, help="pages of the site without its lists (default: 1000)")
    parser.add_argument("--drawn", type=int, default=100, help="pages of them that a script draws (default: 100)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each crawler, in turns (default: 3)")
    parser.add_argument("-c", "--concurrency", type=int, default=8, help="requests and open pages at most (default: 8)")
    options = parser.parse_args(words)
    try:
        with tempfile.TemporaryDirectory(prefix="siteatlas-drawn-") as name:
            print(compare(options, Path(name)))
    except CommandFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
