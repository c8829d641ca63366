"""What the tests of the pool of parser processes share."""

import pytest

from crawler.model import DocumentKind, FetchedDocument, Page, Url
from crawler.parse.html.page import ReadOptions
from crawler.parse.protocol import ParserOptions
from crawler.url.params import UrlParams

LOOPS = [
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop"),
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio", marks=pytest.mark.thorough),
]
"""The event loops: commands run on the first one."""


HANG = b"<div>" * 100_000 + b'<a href="/found">x</a>'


def hello(deadline: float = 10.0) -> ParserOptions:
    return ParserOptions(ReadOptions(), UrlParams(), deadline, 2**30)


def document(
    path: str, body: bytes, content_type: str = "text/html", kind: DocumentKind = DocumentKind.PAGE
) -> FetchedDocument:
    return FetchedDocument(Url(f"https://a.example{path}"), content_type, [], [], "", body, kind)


def targets(page: Page) -> list[str]:
    return [str(url).removeprefix("https://a.example") for url, _ in page.links]
