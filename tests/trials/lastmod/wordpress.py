"""WordPress of Debian's packages with the theme Twenty Twenty-One: posts, pages, archives and comments.

It needs the packages wordpress, wordpress-theme-twentytwentyone, php-cli, php-fpm, php-mysql, mariadb-server and nginx.
"""

import json
import random
import subprocess
import sys
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the modules of the tests import each other by name

import cms
import cms_wordpress

from tests.trials.lastmod.prose import NAMES, WORDS, sentence, text
from tests.trials.lastmod.sites import Missing

_HOST = "trial.example"
_RULES = """
location / {{ try_files $uri $uri/ /index.php?$args; }}
location ~ \\.php$ {{ try_files $uri =404; PHP; fastcgi_param CMS_HOST {host}; }}
"""


def render(folder: Path, count: int, rng: random.Random) -> dict[str, str]:
    """The HTML of a site of about ``count`` pages, by path."""
    try:
        with cms.mariadb() as socket, cms_wordpress._copied(socket.parent / "site", socket) as root:
            (root / "wp-content" / "mu-plugins" / "wordpress_plugin.php").unlink()
            command = ["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "-e", "CREATE DATABASE wp"]
            subprocess.run(command, check=True, timeout=60)
            with cms.serving(root, _HOST, _RULES.format(host=_HOST)) as server:
                server.environment |= {"CMS_ROOT": str(root)}
                script = Path(__file__).with_name("wordpress_content.php")
                server.php(script, given=json.dumps(_articles(count, rng)))
                return _visited(server.port)
    except pytest.skip.Exception as error:
        raise Missing(str(error)) from None


def _articles(count: int, rng: random.Random) -> list[dict[str, object]]:
    names = [f"{WORDS[number % len(WORDS)]}-{number}" for number in range(max(count * 4 // 5, 8))]
    dates = [
        f"20{22 + number * 4 // len(names)}-{number % 12 + 1:02}-{number % 27 + 1:02}" for number in range(len(names))
    ]
    is_page = [number % 9 == 8 for number in range(len(names))]
    paths = [
        f"/{name}/" if page else f"/{date[:4]}/{date[5:7]}/{name}/"
        for name, date, page in zip(names, dates, is_page, strict=True)
    ]
    made = []
    for number, (name, date) in enumerate(zip(names, dates, strict=True)):
        written = text(rng, number, paths)
        made.append(
            {
                "name": name,
                "title": written.title,
                "summary": written.summary,
                "body": written.body,
                "author": written.author,
                "date": f"{date} 10:00:00",
                "category": WORDS[number % 4],
                "tags": [WORDS[number % 6]],
                "comments": [[rng.choice(NAMES), sentence(rng)] for _ in range(rng.randrange(3))],
            }
        )
    return made


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _visited(port: int) -> dict[str, str]:
    """All that visitors reach by links without a query."""
    connection, todo, pages = HTTPConnection("127.0.0.1", port, timeout=60), ["/"], {}
    known = set(todo)
    while todo:
        path = todo.pop(0)
        connection.request("GET", path, headers={"Host": _HOST})
        answer = connection.getresponse()
        body = answer.read().decode()
        if answer.status != 200 or "text/html" not in (answer.headers["Content-Type"] or ""):
            continue
        pages[path] = body
        links = _Links()
        links.feed(body)
        for link in links.found:
            parts = urlsplit(urljoin(f"http://{_HOST}{path}", link))
            if parts.netloc == _HOST and not parts.query and parts.path not in known:
                known.add(parts.path)
                todo.append(parts.path)
    return pages
