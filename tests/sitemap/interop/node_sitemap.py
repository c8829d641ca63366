"""Owns the npm package ``sitemap``, the most used one for Node.js: fetched once into ``.schemas/``, run by scripts."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import schemas

from sitemap import Alternate, Entry, Image, News, Video

_PACKAGE = "sitemap@9.0.1"
_HOME = schemas.FOLDER / "node"
_HERE = Path(__file__).parent


def home() -> Path:
    """The folder whose ``node_modules`` has the package. ``schemas.Unavailable`` when it cannot be had."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise schemas.Unavailable(f"node and npm are not installed, and {_PACKAGE} is needed")
    schemas.FOLDER.mkdir(exist_ok=True)
    with (schemas.FOLDER / "node.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        if not _HOME.exists():
            with tempfile.TemporaryDirectory(dir=schemas.FOLDER) as name:
                work = Path(name) / "node"
                work.mkdir()
                command = [npm, "install", "--no-audit", "--no-fund", "--silent", _PACKAGE]
                try:
                    subprocess.run(command, cwd=work, check=True, capture_output=True, timeout=100)
                except (OSError, subprocess.SubprocessError) as error:
                    raise schemas.Unavailable(f"{' '.join(command)} failed: {error}") from error
                work.rename(_HOME)
    return _HOME


def read(files: Iterable[Path], kind: str = "urlset") -> tuple[list[dict[str, Any]], int]:
    """What the package reads in files, and how many times it complained."""
    command = ["node", str(_HERE / "sitemap_read.cjs"), str(home()), kind, *map(str, files)]
    run = subprocess.run(command, check=True, capture_output=True, timeout=600)
    *items, complaints = map(json.loads, run.stdout.splitlines())
    return items, complaints


def write(items: Iterable[dict[str, Any]], folder: Path, limit: int, base: str, suffix: str = "") -> None:
    """Have the package write ``sitemap-index.xml`` and its shards."""
    command = ["node", str(_HERE / "sitemap_write.cjs"), str(home()), str(folder), base, str(limit), suffix]
    lines = "".join(json.dumps(item) + "\n" for item in items)
    subprocess.run(command, input=lines.encode(), check=True, timeout=600, env={**os.environ, "TZ": "UTC"})


def entry(item: dict[str, Any]) -> Entry:
    """An item of the package as an entry of ours."""
    news = item.get("news")
    return Entry(
        item["url"],
        lastmod=item.get("lastmod", ""),
        changefreq=item.get("changefreq", ""),
        priority=item.get("priority"),
        images=tuple(_image(image) for image in item.get("img", ())),
        videos=tuple(_video(video) for video in item.get("video", ())),
        alternates=tuple(Alternate(link["lang"], link["url"]) for link in item.get("links", ())),
        news=_news(news) if news else None,
    )


def item(page: Entry) -> dict[str, Any]:
    """An entry of ours as an item of the package: :func:`entry` the other way round."""
    news = page.news
    stated = {
        "url": page.loc,
        "lastmod": page.lastmod,
        "changefreq": page.changefreq,
        "priority": page.priority,
        "img": [{"url": image.loc} for image in page.images],
        "video": [_video_item(video) for video in page.videos],
        "links": [{"lang": each.hreflang, "url": each.href} for each in page.alternates],
        "news": news and _news_item(news),
    }
    return _stated(**stated)


def _stated(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _image(image: dict[str, Any]) -> Image:
    return Image(image["url"])


def _news(news: dict[str, Any]) -> News:
    return News(news["publication"]["name"], news["publication"]["language"], news["publication_date"], news["title"])


def _video(video: dict[str, Any]) -> Video:
    def number(name: str, kind: type) -> Any:
        return kind(video[name]) if name in video else None

    def yes(name: str) -> bool | None:
        return video[name].lower() == "yes" if name in video else None

    def related(name: str) -> tuple[str, str] | None:
        return (video[f"{name}:relationship"], video[name]) if name in video else None

    return Video(
        video["thumbnail_loc"],
        video["title"],
        video["description"],
        content_loc=video.get("content_loc", ""),
        player_loc=video.get("player_loc", ""),
        duration=number("duration", int),
        expiration_date=video.get("expiration_date", ""),
        rating=number("rating", float),
        view_count=number("view_count", int),
        publication_date=video.get("publication_date", ""),
        family_friendly=yes("family_friendly"),
        restriction=related("restriction"),
        platform=related("platform"),
        requires_subscription=yes("requires_subscription"),
        uploader=(video["uploader"], video.get("uploader:info", "")) if "uploader" in video else None,
        live=yes("live"),
        tags=tuple(video.get("tag", ())),
    )


def _news_item(news: News) -> dict[str, Any]:
    return _stated(
        publication={"name": news.publication, "language": news.language},
        publication_date=news.publication_date,
        title=news.title,
    )


def _video_item(video: Video) -> dict[str, Any]:
    def yes(value: bool | None) -> str | None:
        return None if value is None else "yes" if value else "no"

    (countries_how, countries), (platform_how, platform) = (video.restriction or ("", ""), video.platform or ("", ""))
    uploader, info = video.uploader or ("", "")
    return {"tag": list(video.tags)} | _stated(
        thumbnail_loc=video.thumbnail_loc,
        title=video.title,
        description=video.description,
        content_loc=video.content_loc,
        player_loc=video.player_loc,
        duration=video.duration,
        expiration_date=video.expiration_date,
        rating=video.rating,
        view_count=video.view_count,
        publication_date=video.publication_date,
        family_friendly=yes(video.family_friendly),
        restriction=countries,
        platform=platform,
        requires_subscription=yes(video.requires_subscription),
        uploader=uploader,
        live=yes(video.live),
        **{"restriction:relationship": countries_how, "platform:relationship": platform_how, "uploader:info": info},
    )
