"""Whether a script that was not run may add links: made pages that scripts fill, and pages that look alike."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import pytest
from steps import steps

from crawler.model import Url
from crawler.parse.html.scripts import INLINE, WRITER, empty_places, read_scripts, unrun_script
from crawler.parse.snapshot.snapshot import reduce_markup

PAGE = Url("https://www.example.com/about.html")
SEEDS = range(60)
PLACES = (
    *(
        '<nav id="{name}"></nav>',
        '<div id="{name}"></div>',
        '<ul class="{name}"></ul>',
        "<nav></nav>",
        "<main>\n</main>",
    ),
    *("<site-{name}></site-{name}>", '<div class="page-menu"></div>', '<div id="{name}">Loading &hellip;</div>'),
    *('<div id="{name}"><!-- here --></div>', '<div data-widget="{name}"></div>', "<DIV ID={name}> </DIV>"),
    *('<div id="{name}"><div class="spinner"></div></div>', '<ul id="{name}"><li>Loading posts...</li></ul>'),
    *('<div id="{name}"><noscript>You need <a href="/x">JavaScript</a></noscript></div>', '<ol id="{name}"></ol>'),
    *('<section id="{name}">&nbsp;</section>'.replace("&nbsp;", " "), '<aside id="{name}"></aside>'),
)
NAMES = ("menu", "nav", "root", "app", "list", "products", "links", "stores", "topics", "events", "content")
FILES = (
    *('<script src="/assets/{name}.js"></script>', "<script defer src='js/main.3f2a.js'></script>"),
    *('<script type="module" src="../app.mjs"></script>', "<SCRIPT SRC=//static.example.com/{name}.js></SCRIPT>"),
    *(
        '<script src="https://example.com/theme.js" async></script>',
        '<script type=module>import "/m/{name}.js"</script>',
    ),
    '<script>var s=document.createElement("script");s.src="/js/{name}.js";document.head.appendChild(s)</script>',
)
BUILDERS = (
    "fetch('/{name}.json').then(r=>r.json()).then(d=>document.querySelector('#{name}').innerHTML=d.map(row).join(''))",
    "$.getJSON('/{name}.json', d => $('#{name}').html(d.map(row)))",
    "const t=document.querySelector('template');for(const x of d)place.append(t.content.cloneNode(true))",
    "customElements.define('site-{name}', class extends HTMLElement {{connectedCallback(){{draw(this)}}}})",
    "function make(tag){{return document.createElement(tag)}};show(make)",
    "Vue.createApp(App).mount('#{name}')",
    "new Vue({{el: '#{name}', data}})",
    "fetch('/{name}').then(r=>r.text()).then(t=>{{{name}.innerHTML=t}})",
    "jQuery('#{name}').load('/{name}.html')",
    "location.replace('/{name}/')",
    "document.getElementById('{name}').insertAdjacentHTML('beforeend', rows)",
)
WRITERS = (
    "for(const u of pages){{const a=document.createElement('a');a.href=u;document.body.append(a)}}",
    "document.write('<a href=\"/{name}/'+name+'.html\">'+name+'</a>')",
    "document.querySelector('header').innerHTML+=pages.map(p=>`<li><a class=x href=${{p}}>${{p}}</a>`).join('')",
    "document.body.insertAdjacentHTML('afterbegin','\\u003ca href=/{name}>{name}\\u003c/a>')",
)
ASIDE = (  # what many sites have, and what adds no links to their pages
    (
        '<script async src="https://www.googletagmanager.com/gtag/js?id=G-1"></script><script>window.dataLayer='
        "window.dataLayer||[];function gtag(){{dataLayer.push(arguments)}}gtag('config','G-1')</script>"
    ),
    (
        "<script>(function(w,d,s,l,i){{w[l]=w[l]||[];var j=d.createElement(s);j.async=true;"
        "j.src='https://www.googletagmanager.com/gtm.js?id='+i;d.head.appendChild(j)}})(window,document,'script')</script>"
    ),
    (
        "<script>(function(){{var u='//example.com/matomo/';var d=document,g=d.createElement('script');"
        "g.async=true;g.src=u+'matomo.js';d.head.appendChild(g)}})()</script>"
    ),
    '<script src="/js/plausible.js" data-domain="example.com"></script>',
    "<script>new Image().src='/pixel?p='+encodeURIComponent(document.location)</script>",
    "<script>navigator.sendBeacon('/collect', document.title); fetch('/count?u='+document.URL)</script>",
    '<div id="cookie-banner"></div><script src="/js/cookie-consent.min.js"></script>',
    (
        "<script>if(!localStorage.consent){{const b=document.createElement('div');b.innerHTML='We use cookies. "
        '<a href="/privacy">More</a> <button>OK</button>\';document.body.append(b)}}</script>'
    ),
    '<div id="onetrust-consent-sdk"></div><script src="https://cdn.cookielaw.org/otSDKStub.js"></script>',
    '<ins class="adsbygoogle"></ins><script>(adsbygoogle=window.adsbygoogle||[]).push({{}})</script>',
    '<div id="div-gpt-ad-1"></div><script>googletag.cmd.push(function(){{googletag.display("div-gpt-ad-1")}})</script>',
    '<div id="ad-slot-top"></div><script src="/js/ads.js"></script>',
    '<script type="application/ld+json">{{"@type":"BreadcrumbList","x":"<a href=/b>"}}</script>',
    '<script type="application/json" id="state">{{"html":"<a href=/b>"}}</script>',
    (
        '<button id="theme"></button><script>document.getElementById("theme").onclick=()=>'
        "document.documentElement.classList.toggle('dark')</script>"
    ),
    '<div id="theme-toggle"></div><script src="/js/theme.js"></script>',
    '<form role="search"><input id="q"></form><div id="search-results"></div><script src="/js/search.js"></script>',
    (
        '<input id="q"><ul id="results"></ul><script>q.addEventListener("input",async()=>{{const d='
        "await fetch('/search.json');document.getElementById('results').innerHTML=hits(d).map(h=>"
        "'<li><a href=\"'+h.u+'\">'+h.t+'</a></li>').join('')}})</script><label>Search</label>"
    ),
    '<div class="clear"></div><span id="anchor"></span><a id="top"></a><div class="col-last odd"></div><td></td>',
    "<script>document.write('<a href=\"mai'+'lto:me@example.com\">mail</a>')</script>",
    "<script>document.getElementById('year').textContent=new Date().getFullYear()</script>",
    '<script>document.documentElement.className="js"</script><script src="https://code.jquery.com/jquery.js"></script>',
)


def made(words: random.Random, parts: Sequence[str]) -> str:
    """A page with a text, links, and these parts of it in any order."""
    text = [f"<p>{' '.join(words.choices(NAMES, k=40))}</p>", *(f'<li><a href="/{name}">{name}</a>' for name in NAMES)]
    body = [part.replace("{{", "{").replace("}}", "}") for part in parts]
    words.shuffle(body)
    at = words.randrange(len(text))
    return f"<!doctype html><title>Boats</title><body><h1>Boats</h1>{''.join([*text[:at], *body, *text[at:]])}</body>"


def doubt(markup: str) -> str:
    """What may add links to a page, or ""."""
    reduced, unread = reduce_markup(markup.encode())
    script = unrun_script(read_scripts(unread), PAGE)
    return script if script == WRITER else script and next(iter(empty_places(reduced)), "")


def named(words: random.Random, text: str) -> str:
    return text.replace("{name}", words.choice(NAMES))


def filled() -> Iterator[tuple[str, str]]:
    yield from product(PLACES, (*FILES, *(f"<script>{text}</script>" for text in BUILDERS)))
    yield from product(("<p>Text</p>",), (f"<script>{text}</script>" for text in WRITERS))


@pytest.mark.parametrize(("place", "script"), [*filled()])
def test_ours_a_page_that_a_script_fills_is_in_doubt(place: str, script: str) -> None:
    for seed in range(4):
        words = random.Random(f"{seed} {place} {script}")
        aside = words.sample(ASIDE, words.randrange(3))
        markup = made(words, [named(words, place), named(words, script), *aside])
        assert doubt(markup), (seed, markup)


@pytest.mark.parametrize("seed", SEEDS)
def test_ours_what_adds_no_links_to_pages_of_the_site_is_no_doubt(seed: int) -> None:
    words = random.Random(seed)
    markup = made(words, words.sample(ASIDE, words.randrange(1, 8)))
    assert not doubt(markup), (doubt(markup), markup)


@pytest.mark.parametrize(
    "script",
    [
        *("https://cdn.example.net/app.js", "//widgets.example.org/menu.js", "https://example.community/app.js"),
        *("http://[broken/app.js", "/js/analytics.js", "/cookieconsent.min.js"),
    ],
)
def test_ours_a_strangers_script_and_a_counter_are_no_scripts_of_the_site(script: str) -> None:
    assert not doubt(f'<nav id="menu"></nav><script src="{script}"></script>')


@pytest.mark.parametrize(
    ("markup", "scripts"),
    [
        ('<script src="/a.js"></script><script>x()</script>', ["/a.js", INLINE]),
        ("<SCRIPT SRC=/a.js async></SCRIPT>", ["/a.js"]),
        ("<script type=module src='/b.mjs'>", ["/b.mjs"]),
        ('<script type="application/ld+json">{}</script><script type="text/template">', []),
        ('<!-- <script src="/old.js"></script> --><script type="importmap">{}</script>', []),
        ("<script src", [INLINE]),
        ("<p>no script", []),
    ],
)
def test_html_scripts_of_a_page(markup: str, scripts: list[str]) -> None:
    found = read_scripts(reduce_markup(markup.encode())[1])
    assert list(dict.fromkeys(script.source for script in found)) == scripts


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "<div id=x>" * n,
        lambda n: "<div id=x>" * n + "</div>" * n,
        lambda n: "<div id=x></div>" * n,
        lambda n: "<ul><li>loading" * n,
        lambda n: "<noscript>" * n,
        lambda n: "<a-b " + "id=x " * n,
        lambda n: "<div class='" + "nav-" * n + "'></div>",
        lambda n: "<script>document" + "createElement(x" * n + "</script>",
        lambda n: "<script>document.append(" + "<a " * n + "</script>",
        lambda n: "<script>createElement '/" + "/js" * n + "</script>",
    ],
)
def test_ours_scripts_and_places_are_found_in_linear_time(make: Callable[[int], str]) -> None:
    def count(size: int) -> int:
        reduced, unread = reduce_markup(make(size).encode())
        return steps(lambda: (unrun_script(read_scripts(unread), PAGE), empty_places(reduced)))

    assert count(2_000) < 5 * count(500) + 1_000
