"""WordPress of Debian's packages: the Harbour Gazette, on a private nginx and a private MariaDB."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cms import HERE, Cms, mariadb, needs, serving

_SOURCE = Path("/usr/share/wordpress")
_SCRIPTS = HERE / "cms_php"
_CONFIG = """<?php
define('DB_NAME', 'wp'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $each) {{
  define("{{$each}}_KEY", $each);
  define("{{$each}}_SALT", $each);
}}
define('WP_HTTP_BLOCK_EXTERNAL', true); define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_HOME', 'http://' . getenv('CMS_HOST')); define('WP_SITEURL', WP_HOME);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
_ROBOTS = r"User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\nDisallow: /intern/\n\n"
_RULES = """
location = /robots.txt {{ return 200 "{robots}Sitemap: http://$http_host/wp-sitemap.xml\\n"; }}
location / {{ try_files $uri $uri/ /index.php?$args; }}
location ~ \\.php$ {{ try_files $uri =404; PHP; fastcgi_param CMS_HOST {host}:$server_port; }}
location ~ /\\. {{ deny all; }}
"""


class WordPress:
    """The running site, what was made on it, and its database as an oracle."""

    def __init__(self, cms: Cms, socket: Path, made: dict[str, Any]) -> None:
        self.cms = cms
        self.made = made
        self._socket = socket

    def edit(self, *words: str | int) -> str:
        return self.cms.php(_SCRIPTS / "wordpress_edit.php", *map(str, words))

    def sql(self, query: str) -> list[list[str]]:
        words = ["mariadb", "--no-defaults", f"--socket={self._socket}", "-uroot", "-N", "-B", "wp", "-e", query]
        out = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
        return [line.split("\t") for line in out.splitlines()]


@contextmanager
def wordpress(posts: int = 300) -> Iterator[WordPress]:
    """A site with so many posts, and all its troubles but those that visitors must see coming."""
    needs("php", str(_SOURCE / "wp-content/themes/twentytwentyone"), "mariadb")
    host = "www.gazette.example"
    with mariadb() as socket, _copied(socket.parent / "site", socket) as root:
        command = ["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "-e", "CREATE DATABASE wp"]
        subprocess.run(command, check=True, timeout=60)
        with serving(root, host, _RULES.format(host=host, robots=_ROBOTS)) as cms:
            cms.environment |= {"CMS_ROOT": str(root), "CMS_POSTS": str(posts)}
            made = json.loads(cms.php(_SCRIPTS / "wordpress_content.php"))
            yield WordPress(cms, socket, made)


@contextmanager
def _copied(root: Path, socket: Path) -> Iterator[Path]:
    shutil.copytree(_SOURCE, root, ignore=shutil.ignore_patterns("wp-config.php", ".htaccess"))
    (root / "wp-config.php").write_text(_CONFIG.format(socket=socket))
    (root / "wp-content" / "mu-plugins").mkdir()
    shutil.copy(_SCRIPTS / "wordpress_plugin.php", root / "wp-content" / "mu-plugins")
    (root / "wp-content" / "uploads").mkdir()
    yield root
