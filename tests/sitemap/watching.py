"""Owns a reader that fetches an index and its children again and again, and tells what it saw that must not be.

    python watching.py FOLDER|URL SECONDS

ends when its standard input does. Each generation is marked by a date that all its entries have. A reader that takes
longer than SECONDS from the index to the last child may see two generations, unless the index is still the same then.
"""

import json
import sys
import threading
import time
import urllib.request
from pathlib import Path
from xml.etree import ElementTree as ET

from marked_sets import NAMESPACE


def fetch(place: str, name: str) -> bytes:
    """The bytes of a public file. OSError when it is missing."""
    if place.startswith("http"):
        with urllib.request.urlopen(place + name, timeout=20) as answer:
            return bytes(answer.read())
    return (Path(place) / name).read_bytes()


def look(place: str, settle: float) -> str:
    """What is wrong with the set as a reader sees it, or ""."""
    started = time.monotonic()
    index = fetch(place, "sitemap.xml")
    marks: set[str] = set()
    for listed in ET.fromstring(index):
        loc, lastmod = str(listed.findtext(f"{NAMESPACE}loc")), str(listed.findtext(f"{NAMESPACE}lastmod"))
        child = ET.fromstring(fetch(place, loc.rpartition("/")[2]))
        found = {str(each.text) for each in child.iter(f"{NAMESPACE}lastmod")}
        marks |= {lastmod, *found}
        if found != {lastmod}:
            marks.add("mixed")
    took = time.monotonic() - started
    if len(marks) > 1 and (took < settle or fetch(place, "sitemap.xml") == index):
        return f"mixed: {sorted(marks)} after {took:.3f} s"
    return ""


def main(place: str, settle: float) -> None:
    """Look until nobody listens, and tell."""
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    reads, faults = 0, []
    while not over.is_set():
        try:
            fault = look(place, settle)
        except (OSError, ET.ParseError) as error:
            fault = f"{type(error).__name__}: {error}"
        reads += 1
        if fault:
            faults.append(fault)
    print(json.dumps([reads, faults]))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
