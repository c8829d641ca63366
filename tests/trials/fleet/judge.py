"""What must hold in a fleet whatever befalls it, as seen from outside. Each violation is a sentence."""

import json
import threading
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from .world import HOOKS, PAGES, GrowingSite, Receiver

RATE = 10.0  # requests per second
_NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


class Reader:
    """A reader of the published sets, all the time: each is whole, and lists all that was listed before."""

    def __init__(self, folder: Path, sites: list[GrowingSite]) -> None:
        self.wrong: list[str] = []
        self.reads = 0
        self._folder = folder
        self._sites = sites
        self._listed: dict[str, set[str]] = {site.name: set() for site in sites}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read_on)

    def __enter__(self) -> "Reader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def listed(self, site: GrowingSite) -> set[str]:
        """The addresses in the set that was read last."""
        return self._listed[site.name]

    def _read_on(self) -> None:
        while not self._stop.wait(0.02):
            for site in self._sites:
                self._look(site)

    def _look(self, site: GrowingSite) -> None:
        folder, before = self._folder / "out" / site.name, self._listed[site.name]
        lead = folder / "sitemap.xml"
        if not before and not lead.exists():
            return
        found, fault = before, ""
        for _ in range(5):  # a new set may come while it is read
            fault = ""
            try:
                first = lead.read_bytes()
                found = _listed_in(lead)
                if lead.read_bytes() != first:
                    continue
            except (OSError, ET.ParseError) as error:
                fault = f"{type(error).__name__}: {error}"
                continue
            if lost := before - found:
                fault = f"it no longer lists {sorted(urlsplit(url).path for url in lost)}"
            break
        self.reads += 1
        if fault:
            self.wrong.append(f"{site.name}: published set: {fault}")
        self._listed[site.name] = found


def _listed_in(path: Path) -> set[str]:
    """The addresses in a file, or in the files that it names. Raises OSError, ParseError."""
    root = ET.fromstring(path.read_bytes())
    addresses = [loc.text or "" for loc in root.iter(f"{_NS}loc")]
    if root.tag == f"{_NS}urlset":
        return set(addresses)
    parts = (_listed_in(path.with_name(urlsplit(address).path.rpartition("/")[2])) for address in addresses)
    return {address for part in parts for address in part}


def judged_pace(site: GrowingSite) -> list[str]:
    """No second may have more requests than the rate allows, and one that came early. robots.txt does not count."""
    moments = [moment for moment, path, _ in site.log if path != "/robots.txt"]
    most, first = 0, 0
    for last, moment in enumerate(moments):
        while moments[first] < moment - 1:
            first += 1
        most = max(most, last - first + 1)
    return [f"{site.name}: {most} requests within a second, at a rate of {RATE:g}"] if most > RATE + 2 else []


def announced(site: GrowingSite, receiver: Receiver, hook: str) -> Counter[str]:
    """How often each new page was announced by name to a webhook; 0 for one in a whole sitemap that was new."""
    told: Counter[str] = Counter()
    for path, message in receiver.received:
        if (path, message["site"]) == (hook, site.name):
            if not message["runs"]["after"]:  # a first run, or one repeated from no state: its pages are not listed
                told.update(dict.fromkeys(site.added[: message["pages"] - 1 - len(PAGES)], 0))
            changes = message["changes"]
            told.update(urlsplit(change["url"]).path for change in changes if change["kind"] == "added")
    return told


def judged_notices(site: GrowingSite, receiver: Receiver, is_claim_open: bool) -> list[str]:
    """Each webhook hears once of each new page. An open claim of a worker that died may have taken one with it."""
    return [sentence for path in HOOKS for sentence in _judged_hook(site, receiver, path, is_claim_open)]


def _judged_hook(site: GrowingSite, receiver: Receiver, hook: str, is_claim_open: bool) -> list[str]:
    told = announced(site, receiver, hook)
    twice = sorted(path for path, times in told.items() if times > 1)
    missing = [path for path in site.added if path not in told and not is_claim_open]
    messages = Counter(
        json.dumps({key: value for key, value in message.items() if key not in ("id", "at")}, sort_keys=True)
        for path, message in receiver.received
        if (path, message["site"]) == (hook, site.name)
    )
    same = [message for message, times in messages.items() if times > 1]
    findings = {"announced more than once": twice, "never announced": missing, "the same message twice": same}
    return [f"{site.name}: {hook[1:]} webhook: {what}: {found}" for what, found in findings.items() if found]
