"""Owns the Chromium of the system, in which nothing may go wrong and nobody be asked but who was named."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

VIEWPORT = {"width": 1366, "height": 900}


def binary() -> str:
    """Where it is; none is downloaded."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("SITEATLAS_REQUIRE_ALL"):
            pytest.fail("chromium is not installed, and SITEATLAS_REQUIRE_ALL demands it")
        pytest.skip("chromium is not installed")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """It, headless."""
    path = binary()
    with sync_playwright() as drivers:
        yield drivers.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])


@contextmanager
def opened(browser: Browser, *ours: str) -> Iterator[Callable[..., Page]]:
    """Opens URLs; in the end sees to it that nothing went wrong, and that all requests begin with one of ``ours``."""
    faults: list[str] = []
    asked: list[str] = []
    with ExitStack() as contexts:

        def open_(url: str, **options: Any) -> Page:
            context = contexts.enter_context(browser.new_context(**{"viewport": VIEWPORT, **options}))
            context.set_default_timeout(10_000)
            page = context.new_page()
            page.on("console", lambda message: faults.append(message.text))
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(url)
            return page

        yield open_
    assert faults == []
    assert not [url for url in asked if not url.startswith((*ours, "data:image/svg+xml"))]
