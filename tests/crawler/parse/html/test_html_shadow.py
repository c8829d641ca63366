"""Declarative shadow roots show their content, and other templates do not."""

import random
from html import escape

import pytest
from steps import steps

from crawler.model import DiscoveredBy, FetchedDocument, Url
from crawler.parse.html.page import ReadOptions
from crawler.parse.html.shadow import lay_open
from crawler.parse.protocol import ParseJob, ParserOptions
from crawler.parse.snapshot.snapshot import load_markup
from crawler.parse.worker import _read
from crawler.url.params import UrlParams
from crawler.url.resolve import UrlResolver

OPTIONS = ParserOptions(ReadOptions(), UrlParams(), 10.0, 2**30)


def read(markup: str, *, why_scan: str = "") -> tuple[set[str], str]:
    """The paths of the links of a page, and its snapshot."""
    document = FetchedDocument(Url("https://a.example/"), "text/html", [], [], "", markup.encode())
    page = _read(ParseJob(document, 0.0, why_scan), OPTIONS, UrlResolver(UrlParams()))
    return {url[17:] for url, found in page.links if found & DiscoveredBy.LINK}, load_markup(page.text)


@pytest.mark.parametrize("why_scan", ["", "parse.timeout"])
@pytest.mark.parametrize(
    ("tag", "is_shown"),
    [
        ('template shadowrootmode="open"', True),
        ("template shadowrootmode=open shadowrootclonable", True),
        ("TEMPLATE class='x' SHADOWROOTMODE='closed' shadowrootmode=open", True),
        ("template data-shadowrootmode=open", False),
        ('template shadowrootmode="other"', False),
        ("template", False),
    ],
)
def test_html_what_a_declarative_shadow_root_shows_is_read(tag: str, is_shown: bool, why_scan: str) -> None:
    markup = f'<my-nav><{tag}><nav><a href="/in">in</a></nav></template></my-nav><a href="/out">out</a>'
    links, _ = read(markup, why_scan=why_scan)
    assert links == ({"/in", "/out"} if is_shown else {"/out"})


def test_html_an_edit_in_a_declarative_shadow_root_changes_the_text() -> None:
    texts = [read(f'<p>one<x-y><template shadowrootmode="open"><p>{word}</template></x-y>')[1] for word in "ab"]
    assert [lay_open(text.encode()) == text.encode() for text in texts] == [True, True]
    assert "<template" not in texts[0]
    assert texts[0] != texts[1]


@pytest.mark.parametrize("seed", range(30))
def test_html_templates_in_templates_are_told_apart(seed: int) -> None:
    words, names = random.Random(seed), iter(range(1_000))
    shown: set[str] = set()

    def made(depth: int, is_shown: bool) -> str:
        parts = []
        for _ in range(words.randrange(1, 4)):
            path = f"/{next(names)}"
            shown.update({path} if is_shown else ())
            parts.append(f'<a href="{escape(path)}">x</a>')
            if depth:
                mode = words.choice((' shadowrootmode="open"', ""))
                inner = made(depth - 1, is_shown and bool(mode))
                parts.append(f"<div><template{mode}>{inner}</template></div>")
        return "".join(parts)

    assert read(made(3, is_shown=True))[0] == shown


def test_ours_shadow_roots_are_laid_open_in_linear_time() -> None:
    def take(size: int) -> int:
        return steps(lambda: lay_open(b"<template shadowrootmode=open>" * size))

    assert take(4_000) < 5 * take(1_000)
