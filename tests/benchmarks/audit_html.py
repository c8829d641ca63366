"""How large the HTML report of an audit is, and how long a person waits for it in Chromium, also on a slow machine.

    python tests/benchmarks/audit_html.py [--findings 130000] [--axe node_modules/axe-core/axe.min.js]

With ``--axe`` it is also checked by axe-core (https://github.com/dequelabs/axe-core), in both schemes and two widths.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from made_report import made, write_page

TYPING = 150  # milliseconds after which a search begins
# Both are told by the page itself: when the first rows were there, and when all were.
WATCH = """
addEventListener("DOMContentLoaded", () => {
  const explorer = document.getElementById("explorer");
  new MutationObserver(() => {
    if (explorer.querySelector("tbody tr")) window.first ??= performance.now();
    if (!explorer.hidden && !explorer.hasAttribute("aria-busy")) window.last ??= performance.now();
  }).observe(explorer, { attributes: true, childList: true, subtree: true });
});
"""


def waits(browser: Browser, path: Path, slower: int) -> Iterator[tuple[str, float]]:
    """Seconds until something is there to be used."""
    page = browser.new_context(viewport={"width": 1366, "height": 900}).new_page()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.add_init_script(WATCH)
    page.goto(path.as_uri())
    page.wait_for_selector("#explorer:not([aria-busy])", timeout=120_000)
    yield "first rows", page.evaluate("window.first") / 1000
    yield "all rows", page.evaluate("window.last") / 1000
    for key in ("url", "weight"):
        yield f"sort by {key}", took(page, f"document.querySelector('th.{key} button').click()")
    yield "turn the page", took(page, "document.querySelector('[data-step=next]').click()")
    yield "filter", took(page, entered("class", "orphans"))
    words = entered("search", "granite copper")
    for search in ("first", "second"):
        took(page, entered("class", ""))
        yield f"{search} search", took(page, words, TYPING)
        took(page, entered("search", ""), TYPING)
    page.close()


def entered(name: str, value: str) -> str:
    """What enters a value into a field of the filters."""
    field = f"document.getElementById('filters').elements['{name}']"
    return f"{field}.value = '{value}'; {field}.dispatchEvent(new Event('input', {{ bubbles: true }}))"


def took(page: Page, act: str, after: int = 0) -> float:
    """Seconds from an act to the new picture, which is begun ``after`` so many milliseconds."""
    timed = f"""async () => {{
        const start = performance.now();
        {act};
        await new Promise((resolve) => setTimeout(resolve, {after}));
        document.body.offsetHeight;
        return performance.now() - start - {after};
    }}"""
    return float(page.evaluate(timed)) / 1000


def axe(browser: Browser, path: Path, script: str) -> Iterator[str]:
    """What axe-core has to say."""
    for scheme in ("light", "dark"):
        for width in (360, 1366):
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
            )
            page = context.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("#explorer:not([aria-busy])")
            page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            page.locator(".opener").first.click()
            page.evaluate(script)
            found = page.evaluate("axe.run().then((told) => told.violations)")
            for each in found:
                places = [" ".join(map(str, node["target"])) for node in each["nodes"]]
                yield f"{scheme} {width}: {each['id']} ({each['impact']}): {len(places)} places, {places[:3]}"
            context.close()


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--findings", type=int, default=130_000)
    words.add_argument("--axe", type=Path)
    told = words.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as drivers:
        path = Path(folder) / "audit.html"
        start = time.process_time()
        write_page(*made(told.findings, is_compared=True), path)
        print(f"written in {time.process_time() - start:.2f} s of CPU, with the making of what it tells")
        print(
            f"{path.stat().st_size / 1e6:.1f} MB, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
        )
        browser = drivers.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for slower in (1, 4):
            print(
                f"CPU {slower} times slower:", *(f"{what} {each:.2f} s" for what, each in waits(browser, path, slower))
            )
        if told.axe:
            write_page(*made(1_000, is_complete=False, is_compared=True), path)
            print(*axe(browser, path, told.axe.read_text()), "axe has nothing more to say", sep="\n")
        browser.close()


if __name__ == "__main__":
    main()
