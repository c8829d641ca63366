"""What the world knows of a drawn site: its sitemap, an access log in the combined format, and exports."""

import random
import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from tests.acting_urls import acting_urls
from tests.trials.audit.sources import AGENTS, PEOPLE, Sources

from .site import URL, Site

VERBS = (
    *("logout", "unsubscribe", "confirm", "delete", "vote", "activate", "opt-out", "approve", "cancel-order"),
    *("abmelden", "kuendigen", "bestaetigen", "deconnexion", "se-desinscrire", "valider", "darse-de-baja"),
    *("confirmar", "cancellati", "conferma", "sair", "uitschrijven", "bevestigen", "wyloguj", "potwierdz"),
    *("otpiska", "podtverdit", "taikai", "kakunin"),
)
FORMS = (
    "/{verb}/{token}",
    "/{verb}?token={token}",
    "/newsletter/{verb}?key={token}&id={number}",
    "/account/{verb}/?code={token}",
    "/index.php?action={verb}&nonce={token}",
    "/{number}/{verb}?_wpnonce={token}",
    "/m/{verb}.php?hash={token}&u={number}",
)
REFERRERS = ("-", "https://www.google.com/", "https://news.example.org/")


@dataclass
class Known:
    """The words of the command that name the sources. Nothing of ``needles`` may be in what the audit writes."""

    words: list[str] = field(default_factory=list)
    needles: dict[str, str] = field(default_factory=dict)  # what is personal → of what kind it is
    orphans: dict[str, str] = field(default_factory=dict)  # the path of an orphan page → the sources that name it


def _token(dice: random.Random, size: int = 32) -> str:
    return "".join(dice.choices("0123456789abcdef", k=size))


def _personal(dice: random.Random, base: str) -> Iterator[tuple[str, str, str]]:
    """URLs with personal data: the URL, what may be in no report, and of what kind that is."""
    tag = "".join(dice.choices(string.ascii_lowercase, k=9))
    mail, phone = f"ines.{tag}@mail.example", "".join(dice.choices(string.digits, k=10))
    token = _token(dice)
    jwt = f"eyJhbGciOiJIUzI1NiJ9.eyJ{tag}{_token(dice)}.{_token(dice)}"
    yield f"{base}?email={quote(mail)}", tag, "e-mail in the query"
    yield f"{base}?q={mail}", tag, "e-mail as a search"
    yield f"/profile/{mail}", tag, "e-mail in the path"
    yield f"{base}?tel=%2B49{phone}", phone, "telephone number"
    yield f"{base}?firstname=Ines&lastname={tag.capitalize()}", tag, "name"
    yield f"{base}?access_token={jwt}", token if token in jwt else jwt[24:44], "JWT"
    yield f"{base}list.jsp;jsessionid={token.upper()}", token[:20], "session in the path"
    yield f"{base}?PHPSESSID={token}", token[:20], "session"
    yield f"{base}?order={dice.randrange(10**5)}&key=wc_order_{token[:13]}", token[:13], "key of an order"


def write_sources(site: Site, folder: Path) -> Known:
    """Write the sources into a folder, and tell the site what acts."""
    dice, known, sources = site.dice, Known(), Sources()
    lines = [(path, dice.randint(1, 9), "-", "-") for path in site.pages if dice.random() < 0.6]
    _name_orphans(site, known, sources, lines)
    for target in _acting(dice):
        site.acting.add(target)
        lines.append((target, dice.randint(1, 12), "-", "-"))
        if dice.random() < 0.4:
            sources.analytics[target] = dice.randint(1, 60)
        if dice.random() < 0.3:
            sources.names.append(target)
    _name_people(site, known, sources, lines)
    log = folder / "access.log"
    log.write_text("".join(_log(dice, lines)))
    if dice.random() < 0.5:
        site.log = log
    known.words = [*sources.write(folder, URL, dice), "--log", log.name]
    return known


def _name_orphans(site: Site, known: Known, sources: Sources, lines: list[tuple[str, int, str, str]]) -> None:
    """Let at least one source name each page that HTML does not link to."""
    dice = site.dice
    site.listed = sorted(site.paths("html"))
    for path in sorted(site.pages.keys() - site.paths("html")):
        ways = dice.sample(("sitemap", "log", "search", "analytics", "backlinks", "list"), dice.choice((1, 1, 2, 3)))
        if "sitemap" in ways:
            site.listed.append(path)
        if "log" in ways:
            lines.append((path, dice.randint(1, 20), "-", "-"))
        if "search" in ways:
            sources.search[path] = (dice.randint(0, 20), dice.randint(21, 300))
        if "analytics" in ways:
            sources.analytics[path] = dice.randint(1, 99)
        if "backlinks" in ways:
            sources.backlinks[path] = dice.randint(1, 3)
        if "list" in ways:
            sources.names.append(path)
        if site.pages[path].truth == "nothing":
            known.orphans[path] = ", ".join(ways)


def _acting(dice: random.Random) -> Iterator[str]:
    yield from dice.sample([each.url for each in acting_urls("shown") if each.kind == "acts"], dice.randint(2, 6))
    for _ in range(dice.randint(1, 4)):
        form = dice.choice(FORMS)
        yield form.format(verb=dice.choice(VERBS), token=_token(dice, 20), number=dice.randrange(1, 9000))


def _name_people(site: Site, known: Known, sources: Sources, lines: list[tuple[str, int, str, str]]) -> None:
    dice = site.dice
    base = f"/{dice.choice(site.sections)}/"
    for target, needle, kind in dice.sample(list(_personal(dice, base)), dice.randint(2, 5)):
        where = dice.choice(("log", "log", "analytics", "list", "referrer"))
        known.needles[needle] = f"{kind}, in the {where}"
        if where == "log":
            lines.append((target, dice.randint(1, 9), "-", "-"))
        elif where == "analytics":
            sources.analytics[target] = dice.randint(1, 60)
        elif where == "list":
            sources.names.append(target)
        else:
            lines.append((base, dice.randint(1, 9), f"{URL}{target[1:]}", "-"))
    if dice.random() < 0.5:
        user = "".join(dice.choices(string.ascii_lowercase, k=9))
        known.needles[user] = "name of a user, in the log"
        lines.append((base, 3, "-", user))


def _log(dice: random.Random, lines: list[tuple[str, int, str, str]]) -> list[str]:
    now, rows = datetime.now(UTC), []
    for target, count, referrer, user in lines:
        for _ in range(count):
            when = now - timedelta(days=dice.randint(1, 20), seconds=dice.randrange(86_000))
            who = (
                dice.choice(AGENTS["google"])
                if referrer == user == "-" and dice.random() < 0.2
                else dice.choice(PEOPLE)
            )
            address = f"203.0.113.{dice.randint(1, 254)}"
            came = referrer if referrer != "-" else dice.choice(REFERRERS)
            asked = f'[{when:%d/%b/%Y:%H:%M:%S} +0000] "GET {target} HTTP/1.1" 200 5123'
            rows.append((when, f'{address} - {user} {asked} "{came}" "{who}"\n'))
    return [line for _, line in sorted(rows)]
