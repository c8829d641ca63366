"""Kills at random moments (SIGKILL), night after night: what is published must be as if nothing had happened.

One attack kills ``KILLS`` times, so a thousand kills are 200 attacks.
"""

import os
import random
import re
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import Final

import warm
from run import FAST, crawl, environment, published, siteatlas
from scripted import Answer, Route, links, scripted

from crawler.crawl.frontier.storage import CRASHES_TO_GIVE_UP

KILLS: Final = 5
_FIRST_DATE: Final = 1_583_208_246
_WORDS: Final = (
    (),
    ("--gzip", "--set=output.max_urls=9"),
    ("--group", "section"),
    ("--set=output.max_urls=5", "--set=output.generations=3"),
    ("--group", "type"),
)


def site(rng: random.Random, night: int, pages: int) -> dict[str, Route]:
    """A site of so many pages: every night some are new, changed or gone. Most say when they were changed."""
    delay = rng.choice((0.0, 0.01, 0.04))
    paths = ["/", *(f"/{'abc'[n % 3]}/p{n}" for n in range(1, pages + 3 * night))]
    routes: dict[str, Route] = {}
    for n, path in enumerate(paths):
        chance = random.Random(f"{n} {pages}")  # what a page is stays over the nights
        changed = chance.randrange(4) if chance.random() < 0.3 else 0
        said = "".join(chr(ord("a") + int(figure)) for figure in f"{n}{changed if changed <= night else 0}")
        body = f"<title>{said}</title><p>All of {said}ly.</p>"
        body += links(*paths[2 * n + 1 : 2 * n + 3], chance.choice(paths))
        if n and chance.random() < 0.1:
            body = f"<meta name=robots content=noindex>{body}"
        if n and chance.random() < 0.1 and chance.randrange(1, 6) == night:
            routes[path] = Answer("gone", 410)
            continue
        date = _FIRST_DATE + 86_400 * (n + 500 * (changed if changed <= night else 0))
        headers = {"Last-Modified": formatdate(date, usegmt=True)}
        if chance.random() < 0.5:
            headers["ETag"] = f'"{said}"'
        routes[path] = Answer(body, headers=headers, delay=delay)
    return routes


def _readable(folder: Path) -> dict[str, bytes]:
    """The index and what it lists; files that the last index listed wait beside it under names of their own.

    Dates of today are without the time, which is that of the observation.
    """
    today = f"{datetime.now(UTC).date()}".encode()
    files = {name: re.sub(today + rb"T[0-9:]+\+00:00", today, body) for name, body in published(folder).items()}
    index = files.get("sitemap.xml", b"")
    return {name: body for name, body in files.items() if name == "sitemap.xml" or f"/{name}<".encode() in index}


def _finished_runs(folder: Path) -> int:
    """One run more than the other folder has may change dates: it compares the pages once more."""
    with closing(sqlite3.connect(next(folder.glob(".siteatlas/*/state.db")))) as db:
        count: int = db.execute("SELECT count(*) FROM run WHERE ended IS NOT NULL").fetchone()[0]
    return count


def _killed(folder: Path, words: tuple[str, ...], seconds: float) -> int | None:
    """The exit code of a crawl, None if it was killed after so many seconds."""
    with Path(os.devnull).open("w") as nothing:
        process = warm.begin(folder, ("crawl", *words), environment(), nothing.fileno(), nothing.fileno())
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(30)
        return None


def attack(seed: int) -> str | None:
    """Crawl a site in some nights, in one folder undisturbed, in another one killed again and again."""
    rng = random.Random(seed)
    words, pages = rng.choice(_WORDS), rng.randrange(3, 60)
    kills = night = 0
    today = datetime.now(UTC).date()  # of changes that only a comparison shows
    with scripted({}) as server, tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder, "whole"), Path(folder, "killed")
        whole.mkdir()
        killed.mkdir()
        line = (server.url, "-o", "out", "--set=output.swap_delay=0", *FAST, *words)
        siteatlas(whole, "--version")  # the process whose forks run the crawls is ready
        while kills < KILLS:
            server.routes = site(rng, night, pages)
            started = time.monotonic()
            ran = crawl(whole, server.url, *words)
            seconds = time.monotonic() - started
            whole_code = ran.code
            if whole_code not in (0, 3):  # 3: too much has changed on so small a site
                return f"night {night}: exit code {whole_code} undisturbed: {ran.err[:200]}"
            code = None
            last = min(KILLS, kills + CRASHES_TO_GIVE_UP - 1)  # one more may give up the start page
            while code is None and kills < last:
                code = _killed(killed, line, rng.uniform(0, 1.2 * seconds))
                kills += code is None
            if code is None:
                ran = crawl(killed, server.url, *words)
                code = ran.code
            while _finished_runs(whole) < _finished_runs(killed):  # a run had ended when it was killed
                whole_code = crawl(whole, server.url, *words).code
            if code != whole_code:
                return f"night {night} with {words}: exit code {code} after {kills} kills: {ran.err[:200]}"
            if _readable(killed) != _readable(whole) and datetime.now(UTC).date() == today:
                return f"night {night} with {words}: other bytes are published after {kills} kills"
            night += 1
    return None
