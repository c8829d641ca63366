"""MediaWiki of Debian's packages: the Harbour Wiki, on a private nginx and a file of SQLite."""

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cms import HERE, Cms, needs, ran, serving

_SOURCE = Path("/usr/share/mediawiki")
_SCRIPTS = HERE / "cms_php"
_SETTINGS = _SCRIPTS / "mediawiki_settings.php"
_RULES = """
location = / {{ return 301 /wiki/Main_Page; }}
location /wiki/ {{ rewrite ^ /w/index.php last; }}
location = /w/index.php {{ PHP; fastcgi_param CMS_HOST {host}:$server_port; fastcgi_param SCRIPT_NAME /w/index.php; }}
location ~ ^/w/(load|api|opensearch_desc|rest)\\.php {{ PHP; fastcgi_param CMS_HOST {host}:$server_port; }}
location /w/ {{ }}
location /sitemaps/ {{ }}
"""


class MediaWiki:
    """The running wiki, and its database as an oracle."""

    def __init__(self, cms: Cms, root: Path) -> None:
        self.cms = cms
        self.root = root

    def make(
        self, pages: dict[str, str] | None = None, moves: dict[str, str] | None = None, deletes: tuple[str, ...] = ()
    ) -> None:
        """Write pages, then move some, then delete some; and let the wiki do what it has put off."""
        asked = json.dumps({"pages": pages or {}, "moves": moves or {}, "deletes": deletes})
        self.cms.php(_SCRIPTS / "mediawiki_content.php", "--conf", _SETTINGS, given=asked)
        self.maintain("runJobs.php")

    def maintain(self, script: str, *words: str) -> str:
        return self.cms.php(_SOURCE / "maintenance" / script, "--conf", _SETTINGS, *words)

    def grow_old(self) -> None:
        """Let the pages be touched last on days of their own, as those of a wiki that was not made at once."""
        with closing(sqlite3.connect(self.root / "wiki.sqlite")) as db, db:
            db.execute(
                "UPDATE page SET page_touched = printf('2024%02d%02d120000', 1 + page_id % 12, 1 + page_id % 28)"
            )

    def publish_sitemaps(self) -> None:
        """Its own sitemaps, by the script it has for that."""
        folder = self.root / "site" / "sitemaps"
        folder.mkdir(exist_ok=True)
        words = ["--server", self.cms.origin, "--urlpath", "/sitemaps/", "--identifier", "wiki"]
        self.maintain("generateSitemap.php", "--fspath", str(folder), *words)

    def sql(self, query: str) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(self.root / "wiki.sqlite")) as db:
            return [tuple(_text(value) for value in row) for row in db.execute(query)]


@contextmanager
def mediawiki() -> Iterator[MediaWiki]:
    """A wiki with a main page and nothing else."""
    needs("php", str(_SOURCE))
    host = "www.wiki.example"
    with tempfile.TemporaryDirectory(prefix="siteatlas-wiki-") as name:
        root = Path(name)
        for folder in ("site", "images", "cache"):
            (root / folder).mkdir()
        (root / "site" / "w").symlink_to(_SOURCE)
        environment = {"CMS_ROOT": name, "MW_CONFIG_FILE": str(_SETTINGS)}
        with serving(root / "site", host, _RULES.format(host=host), **environment) as cms:
            cms.environment |= environment
            _install(cms, root)
            yield MediaWiki(cms, root)


def _install(cms: Cms, root: Path) -> None:
    where = ["--dbtype", "sqlite", "--dbname", "wiki", "--dbpath", str(root), "--confpath", str(root)]
    how = ["--server", cms.origin, "--scriptpath", "/w", "--pass", "a-long-password-1", "--skins", "Vector"]
    bare = {name: value for name, value in os.environ.items() if name != "MW_CONFIG_FILE"}
    script = str(_SOURCE / "maintenance" / "install.php")
    ran(["php", script, *where, *how, "Harbour Wiki", "admin"], bare)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
