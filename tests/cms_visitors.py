"""Who comes to a site: people, search engines, feed readers and scanners, and what each of them asks for."""

import random
from collections.abc import Iterable, Iterator

from cms import Asked

PEOPLE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Safari/604.1",
)
GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
BING = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
_READER = "Feedly/1.0 (+http://www.feedly.com/fetcher.html; 3 subscribers)"
_SCANNERS = ("Mozilla/5.0 zgrab/0.x", "python-requests/2.31.0", "curl/8.5.0", "", PEOPLE[0])
_PROBES = (
    *("/.env", "/.git/config", "/phpmyadmin/", "/wp-config.php.bak", "/admin.php", "/cgi-bin/luci/;stok=/locale"),
    *("/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php", "/?q=<script>alert(1)</script>".replace("<", "%3C")),
    *("/wp-content/plugins/revslider/readme.txt", "/wp-login.php", "/xmlrpc.php", "/%c0%ae%c0%ae/etc/passwd"),
)


def people(path: str, times: int, host: str = "") -> Asked:
    """Visits by browsers, each time of the same make for one path."""
    return Asked(path, PEOPLE[sum(path.encode()) % len(PEOPLE)], times, host=host)


def crowd(paths: Iterable[str], seed: int = 7) -> Iterator[Asked]:
    """What a month brings to pages that are known: people, engines, and the spellings in which links get passed on."""
    rnd = random.Random(seed)
    for path in paths:
        yield people(path, rnd.randint(1, 3))
        yield Asked(path, rnd.choice((GOOGLE, BING)), rnd.randint(0, 2))
        plain = "?" not in path
        if plain and rnd.random() < 0.1:
            yield people(f"{path}?utm_source=newsletter&utm_campaign=n{rnd.randint(1, 9)}", 2)
        if plain and rnd.random() < 0.1:
            yield people(f"{path}?fbclid=IwAR{rnd.randrange(10**12)}", 1)
        if plain and rnd.random() < 0.05:
            yield people(path.rstrip("/") or "/", 1)
        if rnd.random() < 0.02:
            yield Asked(path, "curl/8.5.0", method="HEAD")


def passers_by(assets: Iterable[str], feeds: Iterable[str]) -> Iterator[Asked]:
    """Everything else that a log is full of: what pages are dressed in, feed readers, robots.txt and scanners."""
    for path in assets:
        yield people(path, 20)
    for path in feeds:
        yield Asked(path, _READER, 5)
        yield people(path, 3)
    for path in ("/robots.txt", "/sitemap.xml"):
        yield Asked(path, GOOGLE, 4)
    for path in _PROBES:
        yield from (Asked(path, agent, 2) for agent in _SCANNERS)
        yield Asked(path, PEOPLE[0], 10, "POST")
