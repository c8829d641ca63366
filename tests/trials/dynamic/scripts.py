"""Ways in which scripts build links, containers for them, and scripts of other purposes that build none."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

JAVASCRIPT, JSON = "text/javascript; charset=utf-8", "application/json"

_EACH = """function(x){return '<li><a href="'+x[0]+'">'+x[1]+'</a></li>'}"""
WAYS = {
    "innerHTML": f'h.innerHTML=i.map({_EACH}).join("");',
    "insertAdjacentHTML": f'i.map({_EACH}).forEach(function(s){{h.insertAdjacentHTML("beforeend",s)}});',
    "createElement": "i.forEach(function(x){var a=document.createElement('a');a.setAttribute('href',x[0]);"
    "a.textContent=x[1];h.appendChild(a)});",
    "template": "i.forEach(function(x){var c=document.getElementById('row').content.cloneNode(true),"
    "a=c.querySelector('a');a.href=x[0];a.textContent=x[1];h.appendChild(c)});",
    "fragment": f"h.replaceChildren(document.createRange().createContextualFragment(i.map({_EACH}).join('')));",
    "jquery": f"$(h).append(i.map({_EACH}).join(''));",
    "framework": "(function(){function v(t,p,k){return{t:t,p:p,k:k}}function m(n){if(typeof n==='string')"
    "return document.createTextNode(n);var e=document.createElement(n.t);for(var q in n.p)e.setAttribute(q,n.p[q]);"
    "n.k.forEach(function(c){e.appendChild(m(c))});return e}"
    "h.appendChild(m(v('ul',{role:'list'},i.map(function(x){return v('li',{},[v('a',{href:x[0]},[x[1]])])}))))})();",
    "write": f'document.write("<ul>"+i.map({_EACH}).join("")+"</ul>");',
    "component": f"this.innerHTML='<ul>'+i.map({_EACH}).join('')+'</ul>';",
    "shadow": f"this.attachShadow({{mode:'open'}}).innerHTML='<ul>'+i.map({_EACH}).join('')+'</ul>';",
}
JQUERY = (
    "window.$=window.jQuery=function(e){return{append:function(s){e.insertAdjacentHTML('beforeend',s);return this},"
    "ready:function(f){f();return this}}};"
)
TRIGGERS = {
    "now": "{}",
    "ready": "document.addEventListener('DOMContentLoaded',function(){{{}}});",
    "load": "window.addEventListener('load',function(){{{}}});",
    "timer": "setTimeout(function(){{{}}},60);",
    "scroll": "window.addEventListener('scroll',function(){{{}}},{{once:true}});",
    "seen": "new IntersectionObserver(function(l,o){{if(l[0].isIntersecting){{o.disconnect();{}}}}})"
    ".observe(document.getElementById('end'));",
    "click": "document.getElementById('more').addEventListener('click',function(){{{}}});",
}
WAITING = frozenset({"scroll", "seen", "click"})  # for what no crawler does
DATA = ("literal", "pieces", "fetch", "xhr")  # "pieces": no URL stands in the script as a whole
CONTAINERS = ("nav", "ul", "div", "loading", "none")
FILES = ("/js/main.js", "/assets/app.4f2b1c9a.js", "/theme/js/navigation.min.js", "/static/chunks/7d1.js", "/s/site.js")


@dataclass(frozen=True)
class Link:
    """What a block links to."""

    path: str
    title: str


@dataclass
class Parts:
    """What a script adds to a page, and the files that it loads: their types and bodies by path."""

    place: str = ""
    head: str = ""
    end: str = ""
    files: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """Links that only a script builds."""

    name: str
    links: tuple[Link, ...]
    way: str
    trigger: str
    data: str
    container: str
    is_inline: bool
    file: str = ""

    @property
    def is_early(self) -> bool:
        """Whether it does not wait for its trigger."""
        return self.way in {"write", "component", "shadow"}

    def parts(self) -> Parts:
        parts = Parts(place=self._container())
        code = self._code(parts)
        if self.way == "jquery":
            parts.head += '<script src="/js/jq.min.js"></script>'
            parts.files["/js/jq.min.js"] = (JAVASCRIPT, JQUERY)
        if self.way == "write":
            parts.place += f"<script>{code}</script>"
        elif self.is_inline:
            parts.end = f"<script>{code}</script>"
        else:
            parts.end = f'<script src="{self.file}"></script>'
            parts.files[self.file] = (JAVASCRIPT, code)
        return parts

    def _container(self) -> str:
        name, more = self.name, '<button id="more">More</button>' if self.trigger == "click" else ""
        end = '<div style="height:4000px"></div><div id="end"></div>' if self.trigger == "seen" else ""
        row = '<template id="row"><article><a></a></article></template>' if self.way == "template" else ""
        if self.way in {"component", "shadow"}:
            box = f"<{name}-links></{name}-links>"
        elif self.way == "write" or self.container == "none":
            box = ""
        elif self.container == "loading":
            box = f'<div id="{name}" class="{name} is-loading">Loading…</div>'
        else:
            box = f'<{self.container} id="{name}" class="{name}"></{self.container}>'
        return row + box + more + end

    def _code(self, parts: Parts) -> str:
        build = WAYS[self.way]
        data = self.data if self.way != "write" or self.data in {"literal", "pieces"} else "literal"
        host = f'document.getElementById("{self.name}")'
        if self.container == "none":
            host = "document.body.appendChild(document.createElement('div'))"
        if self.way in {"component", "shadow"}:
            inner = self._with_items(build, data, parts).replace("this", "me")
            return (
                f'customElements.define("{self.name}-links",class extends HTMLElement{{connectedCallback(){{'
                f"var me=this;{inner}}}}});"
            )
        inner = self._with_items(build if self.way == "write" else f"var h={host};{build}", data, parts)
        return f"(function(){{{inner}}})();" if self.way == "write" else TRIGGERS[self.trigger].format(inner)

    def _with_items(self, build: str, data: str, parts: Parts) -> str:
        rows = [[link.path, link.title] for link in self.links]
        if data == "literal":
            return f"var i={json.dumps(rows, separators=(',', ':'))};{build}"
        if data == "pieces":
            pieces = [[link.path.strip("/").split("/"), link.title] for link in self.links]
            tail = "/" if self.links[0].path.endswith("/") else ""
            listed = json.dumps(pieces, separators=(",", ":"))
            return f"var i={listed}.map(function(x){{return['/'+x[0].join('/')+'{tail}',x[1]]}});{build}"
        url = f"/data/{self.name}.json"
        parts.files[url] = (JSON, json.dumps({"items": rows}))
        if data == "fetch":
            return f"fetch('{url}').then(function(r){{return r.json()}}).then(function(j){{var i=j.items;{build}}});"
        return (
            f"var r=new XMLHttpRequest();r.open('GET','{url}');"
            f"r.onload=function(){{var i=JSON.parse(r.responseText).items;{build}}};r.send();"
        )


def drawn_block(dice: random.Random, name: str, links: Sequence[Link]) -> Block:
    """A block of these links, by any way, at any time, from any data."""
    way = dice.choice(list(WAYS))
    return Block(
        name,
        tuple(links),
        way,
        dice.choice(list(TRIGGERS)),
        dice.choice(DATA),
        dice.choice(CONTAINERS),
        dice.random() < 0.5,
        dice.choice(FILES).replace(".js", f"-{name}.js"),
    )


def _inline(code: str) -> Callable[[random.Random], Parts]:
    return lambda dice: Parts(end=f"<script>{code}</script>")


def _file(path: str, code: str, place: str = "") -> Callable[[random.Random], Parts]:
    return lambda dice: Parts(
        place, end=f'<script src="{path}" defer></script>', files={path: (JAVASCRIPT, code)}
    )  # fmt: skip


def _prefetch(dice: random.Random) -> Parts:
    return Parts(head='<link rel="prefetch" href="/"><link rel="preconnect" href="/">')


def _json_ld(dice: random.Random) -> Parts:
    told = {"@context": "https://schema.org", "@type": "Organization", "name": "Tides", "url": "/"}
    return Parts(head=f'<script type="application/ld+json">{json.dumps(told)}</script>')


DISTRACTORS: dict[str, Callable[[random.Random], Parts]] = {
    "gtag": _inline(
        "window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}"
        "gtag('js',new Date());gtag('config','G-TIDES001');"
    ),
    "matomo": _file("/matomo.js", "var _paq=window._paq=window._paq||[];_paq.push(['trackPageView']);"),
    "consent": _file(
        "/js/consent.js",
        "document.getElementById('consent').innerHTML='<p>We use cookies.</p><button>All</button>"
        '<button>None</button><a href="/">Home</a>\';',
        '<div id="consent"></div>',
    ),
    "ads": _inline("(window.adsbygoogle=window.adsbygoogle||[]).push({});var slot=document.createElement('ins');"),
    "json-ld": _json_ld,
    "theme": _file(
        "/js/theme.js",
        "var b=document.getElementById('theme');b.addEventListener('click',function(){"
        "document.documentElement.classList.toggle('dark')});b.textContent='Dark';",
        '<button id="theme"></button>',
    ),
    "search": _file(
        "/js/suggest.js",
        "document.getElementById('q').addEventListener('input',function(e){fetch('/suggest?q='+e.target.value)"
        ".then(function(r){return r.json()}).then(function(l){document.getElementById('hits').innerHTML="
        "l.map(function(x){return '<li>'+x+'</li>'}).join('')})});",
        '<form action="/search"><input id="q" name="q"><ul id="hits"></ul></form>',
    ),
    "chat": _file(
        "/js/chat.js",
        "var c=document.createElement('div');c.className='chat';c.innerHTML='<button>Chat</button>';"
        "document.body.appendChild(c);",
    ),
    "carousel": _inline(
        "(function(){var n=0,s=document.querySelectorAll('.slide');setInterval(function(){"
        "s.forEach(function(e,i){e.hidden=i!==n%s.length});n++},4000)})();"
    ),
    "lightbox": _inline(
        "document.querySelectorAll('img').forEach(function(i){i.addEventListener('click',function(){"
        "var d=document.createElement('dialog');d.appendChild(i.cloneNode());document.body.appendChild(d)})});"
    ),
    "prefetch": _prefetch,
    "year": _inline("var y=document.getElementById('year');if(y)y.textContent=new Date().getFullYear();"),
}
