"""Sites that Next.js makes, as its own server renders them and as a static export, crawled as they are.

Search engines see the same on the server's pages before and after their scripts, so nearly all of them are read as
sent. What takes a moment on the server comes after the rest of its page: metadata and the text of reviews.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from audited import in_process
from madesite import prose
from nginx import nginx
from npm_sites import COPIES, CRAWL, HIDDEN, install, listed, made_items, run, write_files, write_public
from ports import reserved_port

pytestmark = [
    pytest.mark.slow, pytest.mark.needs_chromium, pytest.mark.needs_nginx, pytest.mark.timeout(600),
]  # fmt: skip

ITEMS, CATEGORIES, REVIEWS, DEALS = range(1, 301), range(1, 9), range(1, 21), range(1, 4)
ON_A_PAGE = 12
SHARE = 0.05  # of the pages: as many may be opened in a browser
RULES = "location / { try_files $uri $uri.html $uri/ =404; } error_page 404 /404.html;"
CONFIG = """
const isExport = process.env.SITE_MODE === "export";
export default { output: isExport ? "export" : undefined, images: { unoptimized: isExport } };
"""
ITEMS_JS = """
import items from "./items.json";
export { items };
export const find = (id) => items.find((item) => item.id === Number(id));
export const after = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
"""
LIST = """
import Link from "next/link";
import { items } from "./items";
export const last = Math.ceil(items.length / __ON_A_PAGE__);
export const address = (page) => (page > 1 ? `__PAGES__${page}` : "/items");
export const about = (page) => ({ title: `Items, page ${page}`, alternates: { canonical: address(page) } });
export function List({ page }) {
  const shown = items.slice((page - 1) * __ON_A_PAGE__, page * __ON_A_PAGE__);
  return <main><h1>Items, page {page}</h1>
    <ul>{shown.map((item) => <li key={item.id}><Link href={`/item/${item.id}`}>{item.name}</Link></li>)}</ul>
    {page > 1 && <Link href={address(page - 1)}>Back</Link>}
    {page < last && <Link href={address(page + 1)}>Next</Link>}</main>;
}
"""
LAYOUT = """
import Link from "next/link";
export const metadata = { metadataBase: new URL(process.env.SITE_ORIGIN), title: "Shop" };
export default function Layout({ children }) {
  return <html lang="en"><body><nav><Link href="/">Home</Link> <Link href="/items">Items</Link>
    <Link href="/deals">Deals</Link> <Link href="/about">About</Link></nav>{children}</body></html>;
}
"""
HOME = """
import Link from "next/link";
export default function Home() {
  return <main><h1>Shop</h1>{[1, 2, 3, 4, 5, 6, 7, 8].map((id) =>
    <Link key={id} href={`/category/${id}`}>Category {id}</Link>)}</main>;
}
"""
ABOUT = """
import Link from "next/link";
export const metadata = { title: "About" };
export default function About() {
  return <main><h1>About</h1><p>We sell boats, and repair them too. We no longer
    have <Link href="/item/9999">this one</Link> and <Link href="/review/9999">what was said of it</Link>.</p></main>;
}
"""
CATEGORY = """
import Link from "next/link";
import { notFound } from "next/navigation";
import { items } from "../../../lib/items";
export const generateMetadata = async ({ params }) => ({ title: `Category ${(await params).id}` });
export default async function Category({ params }) {
  const { id } = await params;
  if (!(Number(id) <= 8)) notFound();
  const shown = items.filter((item) => item.id % 8 + 1 === Number(id));
  return <main><h1>Category {id}</h1>
    <ul>{shown.map((item) => <li key={item.id}><Link href={`/item/${item.id}`}>{item.name}</Link></li>)}</ul></main>;
}
"""
CART = """
"use client";
import { useEffect, useState } from "react";
export default function Cart({ id }) {
  const [count, setCount] = useState(0);
  useEffect(() => { setCount(Number(localStorage.getItem(id) ?? 1)); }, [id]);
  return <button onClick={() => setCount(count + 1)}>In the cart: {count}</button>;
}
"""
ITEM = """
import Image from "next/image";
import Link from "next/link";
import { notFound } from "next/navigation";
import Cart from "../../../lib/cart";
import { after, find, items } from "../../../lib/items";
export async function generateMetadata({ params }) {
  const item = find((await params).id);
  if (!item) notFound();
  if (item.id % 2) await after(60);  // the server sends the page without them, and adds them
  return { title: item.name, alternates: { canonical: item.canonical ?? `/item/${item.id}` },
    robots: item.hidden ? { index: false } : undefined };
}
export default async function Item({ params }) {
  const item = find((await params).id);
  if (!item) notFound();
  const image = `${process.env.SITE_ORIGIN}/img/${item.id}.jpg`;
  const product = { "@context": "https://schema.org", "@type": "Product", name: item.name, image };
  return <main><h1>{item.name}</h1>
    <Image src={`/img/${item.id}.jpg`} alt={item.name} width={400} height={300} />
    <p>{item.text}</p><Cart id={item.id} />
    <Link href={`/category/${item.id % 8 + 1}`}>More</Link>
    <Link href={`/item/${item.id % items.length + 1}`}>Next</Link>
    {item.id <= __REVIEWS__ && <Link href={`/review/${item.id}`}>Review</Link>}
    <script type="application/ld+json" dangerouslySetInnerHTML={{ __html: JSON.stringify(product) }} /></main>;
}
"""
REVIEW = """
import Link from "next/link";
import { notFound } from "next/navigation";
import { after, find, items } from "../../../lib/items";
export const generateMetadata = async ({ params }) => ({ title: `Review ${(await params).id}` });
export default async function Review({ params }) {
  const { id } = await params;
  await after(40);
  if (!(Number(id) <= __REVIEWS__)) notFound();  // too late for another status
  return <main><h1>Review {id}</h1><p>{find(id).review}</p>
    <Link href={`/item/${id}`}>Item</Link></main>;
}
"""
LOADING = "export default function Loading() { return <p>Loading</p>; }"
# The only page that is drawn in the browser, and the only one that leads to the deals.
DEALS_JS = """
"use client";
import Link from "next/link";
import { useEffect, useState } from "react";
export default function Deals() {
  const [deals, setDeals] = useState([]);
  useEffect(() => { fetch("/deals.json").then((answer) => answer.json()).then(setDeals); }, []);
  return <main><h1>Deals</h1>{deals.map((id) => <Link key={id} href={`/deal/${id}`}>Deal {id}</Link>)}</main>;
}
"""
DEAL = """
import { notFound } from "next/navigation";
import { items } from "../../../lib/items";
export const generateMetadata = async ({ params }) => ({ title: `Deal ${(await params).id}` });
export default async function Deal({ params }) {
  const { id } = await params;
  if (!(Number(id) <= __DEALS__)) notFound();
  return <main><h1>Deal {id}</h1><p>{items[id * 20].text}</p></main>;
}
"""
SERVED_LIST = """
import { List, about } from "../../lib/list";
const number = async ({ searchParams }) => Number((await searchParams).page ?? 1);
export const generateMetadata = async (props) => about(await number(props));
export default async function Items(props) { return <List page={await number(props)} />; }
"""
EXPORTED_LIST = """
import { List, about } from "../../lib/list";
export const metadata = about(1);
export default function Items() { return <List page={1} />; }
"""
EXPORTED_PAGE = """
import { List, about } from "../../../../lib/list";
export const generateMetadata = async ({ params }) => about(Number((await params).id));
export default async function Items({ params }) { return <List page={Number((await params).id)} />; }
"""
# An export needs the parameters of all its pages. A server that knew them would render the pages when it is built.
PARAMETERS = """
export const generateStaticParams = () => Array.from({{ length: {0} }}, (_, n) => ({{ id: `${{n + {1}}}` }}));
"""


def parameters(numbers: range, *, is_export: bool) -> str:
    return PARAMETERS.format(len(numbers), numbers.start) if is_export else ""


def last_page() -> int:
    return -(-len(ITEMS) // ON_A_PAGE)


def files(*, is_export: bool) -> dict[str, str]:
    """The source of the site."""
    words = random.Random(2)

    def of_all(text: str, numbers: range) -> str:
        return text + parameters(numbers, is_export=is_export)

    made = {
        "next.config.mjs": CONFIG,
        "lib/items.json": json.dumps([{**item, "review": prose(words, 60)} for item in made_items(ITEMS)]),
        "lib/items.js": ITEMS_JS,
        "lib/list.jsx": LIST.replace("__PAGES__", "/items/page/" if is_export else "/items?page="),
        "lib/cart.jsx": CART,
        "public/deals.json": json.dumps([*DEALS]),
        "app/layout.jsx": LAYOUT,
        "app/page.jsx": HOME,
        "app/about/page.jsx": ABOUT,
        "app/deals/page.jsx": DEALS_JS,
        "app/deal/[id]/page.jsx": of_all(DEAL, DEALS),
        "app/category/[id]/page.jsx": of_all(CATEGORY, CATEGORIES),
        "app/item/[id]/page.jsx": of_all(ITEM, ITEMS),
        "app/review/[id]/page.jsx": of_all(REVIEW, REVIEWS),
        "app/review/[id]/loading.jsx": LOADING,
        "app/items/page.jsx": EXPORTED_LIST if is_export else SERVED_LIST,
    }
    if is_export:
        made["app/items/page/[id]/page.jsx"] = of_all(EXPORTED_PAGE, range(2, last_page() + 1))
    sizes = {"__ON_A_PAGE__": str(ON_A_PAGE), "__REVIEWS__": str(len(REVIEWS)), "__DEALS__": str(len(DEALS))}
    return {name: re.sub("__[A-Z_]+__", lambda found: sizes[found[0]], text) for name, text in made.items()}


def build(folder: Path, url: str, *, is_export: bool) -> dict[str, str]:
    """Build the site of a URL; returns the environment that it runs in."""
    environment = {
        "NEXT_TELEMETRY_DISABLED": "1",
        "SITE_MODE": "export" if is_export else "server",
        "SITE_ORIGIN": url.rstrip("/"),
    }
    write_public(folder / "public", ITEMS)
    write_files(folder, files(is_export=is_export))
    install(folder, "next@16", "react@19", "react-dom@19")
    run(folder, *next_command(folder), "build", **environment)
    return environment


def next_command(folder: Path) -> list[str]:
    return [shutil.which("node") or "node", str(folder / "node_modules" / "next" / "dist" / "bin" / "next")]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The site behind the server of Next.js: its URL."""
    port = reserved_port()
    environment = build(folder, f"http://127.0.0.1:{port}/", is_export=False)
    command = [*next_command(folder), "start", "-H", "127.0.0.1", "-p", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        for _ in range(300):
            assert process.poll() is None, (folder / "log").read_text()
            if answers(port):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/about")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def exported(folder: Path) -> Iterator[str]:
    """The site as files behind nginx, which runs before the files exist, because they state their URL."""
    with nginx(folder / "out", RULES) as server:
        build(folder, server.url, is_export=True)
        yield server.url


def truth(url: str, *, is_export: bool) -> dict[str, set[str]]:
    """The pages of the site with their pictures."""
    shown = [number for number in ITEMS if number not in (*HIDDEN, *COPIES)]
    paths = ["", "about", "items", "deals", *(f"category/{n}" for n in CATEGORIES), *(f"deal/{n}" for n in DEALS)]
    paths += [f"review/{number}" for number in REVIEWS]
    paths += [f"items/page/{n}" if is_export else f"items?page={n}" for n in range(2, last_page() + 1)]
    pages: dict[str, set[str]] = {f"{url}{path}": set() for path in paths}
    for n in shown:
        pages[f"{url}item/{n}"] = {f"{url}img/{n}.jpg"}
        if not is_export:  # the largest size of the picture that the page offers, beside the one in its JSON-LD
            pages[f"{url}item/{n}"].add(f"{url}_next/image?url=%2Fimg%2F{n}.jpg&w=828&q=75")
    return pages


def opened(notes: list[str]) -> int:
    """How many pages were opened in a browser."""
    found = re.search(r"([\d,]+) pages? rendered .* ([\d,]+) read both ways", "\n".join(notes))
    assert found, notes
    return sum(int(count.replace(",", "")) for count in found.groups())


@pytest.mark.parametrize("serve", [served, exported])
def test_ours_a_site_of_next_is_listed_exactly_and_hardly_rendered(
    serve: Callable[[Path], AbstractContextManager[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "site").mkdir()
    with serve(tmp_path / "site") as url, in_process(tmp_path, monkeypatch, capsys) as command:
        expected = truth(url, is_export=serve is exported)
        first = command("crawl", url, *CRAWL)
        assert first.code == 0, first.err
        report = json.loads(first.out)
        sitemap = tmp_path / "out" / "sitemap.xml"
        assert listed(sitemap) == expected, report["notes"]
        assert 0 < opened(report["notes"]) < SHARE * len(expected), report["notes"]
        before = sitemap.read_bytes()
        second = command("crawl", url, *CRAWL)
        assert second.code == 0, second.err
        assert json.loads(second.out)["changed"] == 0
        assert opened(json.loads(second.out)["notes"]) <= opened(report["notes"])
        assert sitemap.read_bytes() == before
