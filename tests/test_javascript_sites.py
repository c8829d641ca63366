"""Sites that scripts draw, built from npm by the tools that their owners use, and crawled as they are.

Each site has the same thirty items. Scripts mark two as noindex, and name another item as the canonical of two.
Pictures are loaded lazily.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from audited import in_process
from nginx import nginx
from npm_sites import COPIES, CRAWL, HIDDEN, install, listed, made_items, run, write_files, write_public

pytestmark = [
    pytest.mark.slow, pytest.mark.needs_chromium, pytest.mark.needs_nginx, pytest.mark.timeout(600),
]  # fmt: skip

ITEMS = range(1, 31)
FALLBACK = "location / { try_files $uri /index.html; } location /assets/ {} location /api/ {} location = /robots.txt {}"
INDEX = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head><body><div id="root"></div>'
    '<script type="module" src="/main.js"></script></body></html>'
)
# What the pages of all frameworks share: the data, and what a script says about a page.
SHARED = """
export const load = (path) => fetch(path).then((response) => response.json());
export function announce(item) {
  document.title = item.name;
  document.head.querySelectorAll("[data-item]").forEach((node) => node.remove());
  const add = (name, values) => {
    const node = Object.assign(document.createElement(name), values);
    node.dataset.item = "";
    document.head.append(node);
  };
  if (item.hidden) add("meta", { name: "robots", content: "noindex" });
  if (item.canonical) add("link", { rel: "canonical", href: new URL(item.canonical, location.origin).href });
  add("script", { type: "application/ld+json", text: JSON.stringify({ "@type": "Product", name: item.name }) });
}
export const picture = (id) => ({ src: `/img/${id}.jpg`, alt: `Item ${id}`, width: 400, height: 300, loading: "lazy" });
"""
REACT = """
import { createElement as h, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, HashRouter, Link, Route, Routes, useParams } from "react-router";
import { announce, load, picture } from "./shared.js";

const MODE = __MODE__;
const link = (item) => h("li", { key: item.id }, h(Link, { to: `/item/${item.id}` }, item.name));

function Home() {
  const [items, setItems] = useState([]);
  const [shown, setShown] = useState(MODE === "scroll" ? 5 : 1000);
  const end = useRef(null);
  useEffect(() => { load("/api/items.json").then(setItems); }, []);
  useEffect(() => {
    if (MODE !== "scroll" || !items.length) return undefined;
    const watch = new IntersectionObserver((seen) => seen[0].isIntersecting && setShown((count) => count + 5));
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [items, shown]);
  return h("main", null, h("h1", null, "Shop"), h("ul", null, items.slice(0, shown).map(link)),
    h("div", { ref: end, style: { height: 10 } }), h(Link, { to: "/about" }, "About"));
}
function Item() {
  const { id } = useParams();
  const [item, setItem] = useState(null);
  useEffect(() => { load(`/api/item-${id}.json`).then((found) => { setItem(found); announce(found); }); }, [id]);
  if (!item) return h("p", null, "Loading");
  return h("main", null, h("h1", null, item.name), h("img", picture(id)), h("p", null, item.text),
    h(Link, { to: "/" }, "Home"));
}
const About = () => h("main", null, h("h1", null, "About"), h("p", null, "We sell boats, and repair them too."));
createRoot(document.getElementById("root")).render(
  h(MODE === "hash" ? HashRouter : BrowserRouter, null, h(Routes, null,
    h(Route, { path: "/", element: h(Home) }), h(Route, { path: "/item/:id", element: h(Item) }),
    h(Route, { path: "/about", element: h(About) }))));
"""
VUE = """
import { createApp, h, ref, watchEffect } from "vue";
import { RouterLink, RouterView, createRouter, createWebHistory, useRoute } from "vue-router";
import { announce, load, picture } from "./shared.js";

const to = (path, text) => h(RouterLink, { to: path }, () => text);
const Home = { setup() {
  const items = ref([]);
  load("/api/items.json").then((found) => { items.value = found; });
  return () => h("main", [h("h1", "Shop"), h("ul", items.value.map((i) => h("li", [to(`/item/${i.id}`, i.name)]))),
    to("/about", "About")]);
} };
const Item = { setup() {
  const route = useRoute(), item = ref(null);
  watchEffect(() => load(`/api/item-${route.params.id}.json`).then((i) => { item.value = i; announce(i); }));
  return () => item.value
    ? h("main", [h("h1", item.value.name), h("img", picture(route.params.id)), h("p", item.value.text),
      to("/", "Home")])
    : h("p", "Loading");
} };
const About = () => h("main", [h("h1", "About"), h("p", "We sell boats, and repair them too.")]);
const router = createRouter({ history: createWebHistory(), routes: [
  { path: "/", component: Home }, { path: "/item/:id", component: Item }, { path: "/about", component: About }] });
createApp({ render: () => h(RouterView) }).use(router).mount("#root");
"""
SVELTE = """
<script>
  import { announce, load, picture } from "./shared.js";
  const path = location.pathname;
  const id = path.startsWith("/item/") ? path.slice(6) : "";
  let items = $state([]), item = $state(null);
  if (path === "/") load("/api/items.json").then((found) => { items = found; });
  if (id) load(`/api/item-${id}.json`).then((found) => { item = found; announce(found); });
</script>
{#if path === "/"}
  <main><h1>Shop</h1><ul>{#each items as i}<li><a href={`/item/${i.id}`}>{i.name}</a></li>{/each}</ul>
  <a href="/about">About</a></main>
{:else if item}
  <main><h1>{item.name}</h1><img {...picture(id)} alt=""><p>{item.text}</p><a href="/">Home</a></main>
{:else if path === "/about"}
  <main><h1>About</h1><p>We sell boats, and repair them too.</p></main>
{:else}<p>Loading</p>{/if}
"""


@dataclass(frozen=True)
class Framework:
    """The packages of a site and its files; ``plugin`` is that of Vite, as an import and a call."""

    packages: tuple[str, ...]
    files: dict[str, str]
    plugin: tuple[str, str] = ("", "")


def react(mode: str) -> Framework:
    return Framework(
        ("react@19", "react-dom@19", "react-router@7"), {"main.js": REACT.replace("__MODE__", f'"{mode}"')}
    )


FRAMEWORKS = {
    "react": react("history"),
    "react-hash": react("hash"),
    "react-scroll": react("scroll"),
    "vue": Framework(("vue@3", "vue-router@4"), {"main.js": VUE}),
    "svelte": Framework(
        ("svelte@5", "@sveltejs/vite-plugin-svelte@6"),
        {
            "main.js": 'import { mount } from "svelte";\nimport App from "./App.svelte";\n'
            'mount(App, { target: document.getElementById("root") });\n',
            "App.svelte": SVELTE,
        },
        ('import { svelte } from "@sveltejs/vite-plugin-svelte";', "svelte()"),
    ),
}


def write_data(public: Path) -> None:
    """The items, as files that the scripts request."""
    write_public(public, ITEMS)
    items = made_items(ITEMS)
    write_files(public / "api", {f"item-{item['id']}.json": json.dumps(item) for item in items})
    write_files(
        public / "api", {"items.json": json.dumps([{"id": item["id"], "name": item["name"]} for item in items])}
    )


def build(folder: Path, framework: Framework) -> Path:
    """Build a site with Vite, and return the directory to serve."""
    imported, call = framework.plugin
    config = f"{imported}\nexport default {{ plugins: [{call}] }};\n"
    write_files(folder, {"vite.config.js": config, "index.html": INDEX, "shared.js": SHARED, **framework.files})
    write_data(folder / "public")
    install(folder, "vite@7", *framework.packages, type="module")
    run(folder, str(folder / "node_modules" / ".bin" / "vite"), "build", "--logLevel", "error")
    return folder / "dist"


def truth(url: str, name: str) -> dict[str, set[str]]:
    """The pages of a site with their pictures."""
    if name == "react-hash":  # the addresses of its other pages differ only after #
        return {url: set()}
    shown = [number for number in ITEMS if number not in (*HIDDEN, *COPIES)]
    return {url: set(), f"{url}about": set(), **{f"{url}item/{n}": {f"{url}img/{n}.jpg"} for n in shown}}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_ours_a_site_that_scripts_draw_is_listed_exactly(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "site").mkdir()
    served = build(tmp_path / "site", FRAMEWORKS[name])
    with nginx(served, FALLBACK) as server, in_process(tmp_path, monkeypatch, capsys) as command:
        first = command("crawl", server.url, *CRAWL)
        assert first.code == 0, first.err
        sitemap = tmp_path / "out" / "sitemap.xml"
        assert listed(sitemap) == truth(server.url, name), json.loads(first.out)["notes"]
        before = sitemap.read_bytes()
        assert command("crawl", server.url, *CRAWL).code == 0
        assert sitemap.read_bytes() == before
