"""The pages that ``siteatlas explore`` shows of a large crawl: how long Chromium waits for each sort, facet and filter.

    python -m tests.benchmarks.dataset --step make --folder FOLDER --pages 1000000
    python -m tests.benchmarks.explore FOLDER

prints the milliseconds until a page is shown, and until its counts are there, too.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from playwright.sync_api import Page

from crawler.dataset.schema import TABLES
from tests.browsing import chromium

FILTERS = {"exact": "5", "contains": "zz9", "gt": "5", "isblank": "1"}


def addresses(pages: str) -> dict[str, list[str]]:
    """What is asked of the table of pages, whose address it is."""
    names = [column.name for column in TABLES["pages"]]
    return {
        "sorts": [f"{pages.replace('_sort_desc=inlinks', f'_sort={name}')}&_col={name}" for name in names],
        "facets": [f"{pages}&_facet={name}" for name in names],
        "filters": [f"{pages}&{name}__{key}={value}" for name in names for key, value in FILTERS.items()],
    }


def seconds(page: Page, address: str) -> tuple[float, float]:
    """How long it takes until the page is shown, and until all of it is there."""
    begun = time.perf_counter()
    page.goto(address)
    shown = time.perf_counter()
    page.locator("main > h3, .zero-results").first.wait_for()
    page.wait_for_function("!document.querySelector('.later')")
    return shown - begun, time.perf_counter() - begun


def main() -> None:
    """Ask for all of them, one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    command = [sys.executable, "-m", "crawler", "explore", "--state", str(parser.parse_args().folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as explore, chromium() as browser:
        assert explore.stdout
        link = explore.stdout.readline().split()[1]
        page = browser.new_page()
        begun = time.perf_counter()
        page.goto(link)
        sys.stdout.write(f"the first page: {1000 * (time.perf_counter() - begun):.0f} ms\n")
        table = page.locator("text=All pages").first.get_attribute("href")
        for kind, asked in addresses(f"{urlsplit(link).scheme}://{urlsplit(link).netloc}{table}").items():
            taken = [seconds(page, address) for address in asked]
            for words, values in zip(("shown", "with counts"), zip(*taken, strict=True), strict=True):
                figures = f"median {1000 * median(values):.0f} ms, slowest {1000 * max(values):.0f} ms"
                sys.stdout.write(f"{len(taken)} {kind}, {words}: {figures}\n")
        explore.terminate()


if __name__ == "__main__":
    main()
