"""Challenges: recognizes what a firewall responds with in place of a page: a check of the browser, a captcha, a block.

Pure. A challenge is a failure: it says nothing about the page, whatever its status, its robots meta or its text.

Whatever the status of the response, these count:

1. A header that only a challenge has, or a status that no standard has, such as 999.
2. A mark that only a challenge has, in a bare document: at most :data:`MAX_LINKS` links in :data:`MAX_BYTES`. An
   article about challenges has more links, and its examples of code are escaped. A site behind a firewall has other
   markup of that firewall in every page (``/cdn-cgi/challenge-platform/scripts/jsd``,
   ``/_Incapsula_Resource?SWJIYLWA``, ``challenge.js``, ``x-iinfo``, ``cf-ray``), which therefore does not count.
3. :data:`MIN_SIGNS` signs in a bare document with few words: what challenges have in common, whoever sends them. One
   of them is in its code or its status, and one in its words. A form that asks for a name or a password, a 403 that
   speaks of permission, and an empty page that scripts fill are a site's own. A server that is busy (503, 429) is
   asked again, so there the words must ask for a human or name a check.
4. Fewer signs, or none but that the template of the site is gone, when several URLs of a run return the same:
   :mod:`crawler.crawl.repeated_challenges`.

No list is ever complete. The gate (:mod:`crawler.publish.gate`) has the rule without names: many pages that suddenly
say the same are held back, whoever made them.

Sources:

- Cloudflare: ``cf-mitigated``:
  https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response ; the script
  ``_cf_chl_opt`` and ``orchestrate``: https://github.com/scaredos/cfresearch ; ``cf-error-details`` on its block page.
- AWS WAF: ``x-amzn-waf-action`` with 202 or 405:
  https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html ; ``gokuProps`` in it.
- Vercel: ``x-vercel-mitigated`` and ``/.well-known/vercel/security``: https://github.com/microlinkhq/is-antibot
- DataDome: ``captcha-delivery.com``: https://docs.capsolver.com/de/guide/antibots/datadome
- Imperva (Incapsula), which responds with 200: a frame of ``/_Incapsula_Resource`` around "Request unsuccessful".
- Akamai: ``sec-if-cpt-container`` and ``bm-verify`` are challenges; its block page has an encoded ``Reference #``.
- Sucuri: ``sucuri_cloudproxy_js``, and the title of its block page.
- SiteGround: 202 and a refresh to ``/.well-known/sgcaptcha/``.
- Anubis: ``anubis_challenge``: https://github.com/TecharoHQ/anubis
- HUMAN (PerimeterX): ``px-captcha``. Kasada: ``KPSDK``. Alibaba Cloud: ``acw_sc__v2``. DDoS-Guard, Wordfence and F5 by
  the words of their pages. These, like the marks above without an address, occur in many public detectors, such as
  https://github.com/microlinkhq/is-antibot
- Fastly: ``/_fs-ch-``: https://www.fastly.com/products/bot-management . cPanel: the title of a suspended account.
- Load balancers that sign a 403 of their own in the way of nginx: Cloudflare, AWS, Azure Application Gateway.
- Captchas: https://developers.cloudflare.com/turnstile , https://docs.hcaptcha.com ,
  https://developers.google.com/recaptcha/docs/display
"""

import csv
import re
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from http import HTTPStatus
from importlib.resources import files
from typing import Final, NamedTuple
from urllib.parse import unquote

from crawler.fetch.retry import is_transient
from crawler.model import Reply, Url

MAX_LINKS: Final = 3
"""Links of a bare document. Challenges have at most a link to the firewall's maker and one to a privacy policy."""
MAX_BYTES: Final = 96 * 1024
"""Bytes of a bare document."""
MAX_WORDS: Final = 120
"""Words of a document that is a challenge without a known mark."""
MAX_BARE_BYTES: Final = 32 * 1024
"""Bytes of such a document: pages that scripts draw may be large, and reading them takes long."""
MIN_SIGNS: Final = 3
"""Signs of a challenge without a known mark. Honest bare pages have two: a 403 of a login, a game with its script."""
_REGISTERED: Final = frozenset(HTTPStatus)  # https://www.iana.org/assignments/http-status-codes
ANSWERS: Final = frozenset({200, 404, 410, 451})
"""Statuses with which sites speak for themselves."""
_GONE: Final = frozenset({404, 410})


class Challenge(NamedTuple):
    """A recognized challenge: the firewall that responded, and the mark by which it is known."""

    vendor: str
    mark: str

    @property
    def reason(self) -> str:
        """The reason for a verdict."""
        return f"{self.vendor} responded with a challenge: {self.mark}"


_HEADERS: Final = {
    "cf-mitigated": ("Cloudflare", ("challenge",)),
    "x-amzn-waf-action": ("AWS WAF", ("challenge", "captcha")),
    "x-vercel-mitigated": ("Vercel", ("challenge", "deny")),
}

# An attempt ends where the next one begins, or there is only one, so that a search takes linear time.
_SCRIPT: Final = rb"<script[^<>]*>(?:(?!</?script).){0,20000}?\b"
_TABLE: Final = (files("crawler.fetch") / "challenges.csv").read_bytes().decode("ascii")
_MARKUP: Final = tuple(
    (vendor, mark, token.encode(), re.compile(pattern.encode().replace(b"{script}", _SCRIPT), re.DOTALL).search)
    for vendor, mark, token, pattern in list(csv.reader(_TABLE.splitlines()))[1:]
)
# What a bare document says, in the words that a reader sees. Scripts draw honest pages that say the first of these. The
# last ones count only with a status that refuses the page.
_WAITS, _ASKS, _CHECKS = "asks to wait or for JavaScript", "asks for a human", "checks the browser"
_SHOWS: Final = frozenset({"speaks of your IP address", "shows a token"})
_WORDS: Final = tuple((sign, re.compile(pattern).search) for sign, pattern in {
    _WAITS: r"please wait|\bmoments?\b|javascript|\bjs\b|cookies?\b|patien|instant\b|warten|aguarde|espere|секунд|请稍",
    _ASKS: r"\b(?:not|be|you) an? (?:ro)?bot\b|\byou(?:.re| are)? (?:a )?human|\b(?:ro)?bot (?:check|challenge)|captcha"
    r"|\bhuman (?:check|verif)|automated (?:access|quer|re|tool|traf)"
    r"|(?:kein|pas un|no eres un|não é um) rob[oô]|ein mensch|humain|humano|umano"
    r"|не робот|вы человек|机器人|人机|機器人|ロボット|로봇",
    _CHECKS: r"(?:\bcheck|verif|vérif|validat|prüf|comprob|провер)[^.]{0,40}(?:browser|connection|request|human|\bbot\b"
    r"|rob[oô]|navig|naveg|verbindung|connexion|conexi|браузер|робот|человек|соедин)|secure connection|being verified"
    r"|(?:human|browser|bot|client|security) (?:check|verif|validat|challenge|measure)|\bsolves? a [^.]{0,15}puzzle"
    r"|验证|驗證|認証|확인|بررسی",
    "refuses you": r"\bblocked|\bbanned|rejected|suspicious|suspended|unable to (?:access|visit)|been denied|locked out"
    r"|too many|unusual (?:traffic|activity)|gesperrt|blockiert|bloqu|заблок|拦截|攔截|阻断|차단|ブロック",
    "shows an IP address": r"(?<!server at )(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])",
    "names the request": r"(?:\b(?:r?id|code|ref|reference|transaction|event|request|incident)"
    r"|référence|番号|编号|номер)(?: is)?[ :#=]{1,4}(?=[a-z=/+._-]{0,40}\d)[\w=/+.-]{8}",
    "speaks of protection": r"\b(?:protect(?:ed|ion)|security|secured) (?:by|from|against)\b|firewall|\bwaf\b|ddos"
    r"|mod.?security|bot.?protection|hosting provider|защит[аы] от|防护",
    "names a firewall": r"firewall|\bwaf\b|ddos|mod.?security|\bbot.?protection|防火墙",
    "lets you queue": r"\bin line\b|\bin the queue\b|waiting room|in der warteschlange|file d.attente|в очереди|排队",
    "speaks of your IP address": r"\byour ip\b|\bip[ -]?(?:addres|адрес)|adresse ip|ip-adresse|dirección ip|\bip:",
    "shows a token": r"(?<![:#=e] )\b(?=[a-f]*\d)[0-9a-f]{14,}\b",
}.items())  # fmt: skip
_CAPTCHAS: Final = (b"captcha", b"cf-turnstile")
_CHECKERS: Final = (*_CAPTCHAS, b"challenge", b"shield", b"guard", b"well-known")
_HIDES: Final = "has a script that hides what it does"
_SCRIPTS: Final = (b"_0x", b"eval(", b"atob(", b"crypto.subtle", b"fromcharcode")
_WIDGET: Final = rb"\bclass=[\"'](?:cf-turnstile|h-captcha|g-recaptcha)|<script[^<>]*?captcha"
# What else is in it: a plain search for the tokens first, as for marks.
_CODE: Final = tuple((sign, tokens, re.compile(pattern).search) for sign, tokens, pattern in (
    ("has noindex", (b"noindex",), rb"<meta[^<>]*?noindex"),
    ("refreshes itself", (b"refresh",), rb"<meta[^<>]*?http-equiv=[\"']?refresh"),
    (_HIDES, _SCRIPTS, rb"<script"),
    ("has a captcha", _CAPTCHAS, _WIDGET + rb"|<(?:form|input|img)[^<>]*?captcha"),
    ("has a script for a check", _CHECKERS, rb"<script[^<>]*?(?:challenge|shield|guard|well-known)|" + _WIDGET),
))  # fmt: skip
_RELOADS: Final = "loads its URL again"
_COOKIE: Final = "does nothing but set a cookie for that"
_says_forbidden = re.compile(
    r"\b40\d\b|forbidden|unauthori[sz]ed|permission|not allowed|access ?denied|authenti"
).search
_unscripted = re.compile(rb"<(?:noscript|title)\b[^<]*+(?:<(?!/noscript|/title)[^<]*+)*+").sub
_plain_words = re.compile(r"(?<![^\W_])[^\W\d_]++(?![^\W_])").findall
_hidden_start = re.compile(rb"<(?:(script|style|svg|template)\b[^<>]*+>|!--)").finditer
_tags = re.compile(rb"<[^<>]*+>").sub
_locations = re.compile(rb"\blocation\b[^;<>\"']{0,20}[\"']([^\"'?#<>]*)").finditer
_has_fields = re.compile(rb"<textarea|<input[^<>]*?\b(?:type|name)=[\"']?(?:password|email|name|tel|search)\b").search


def detect_challenge(reply: Reply) -> Challenge | None:
    """The challenge that a reply is, or None when it is not one."""
    for name, value in reply.headers:
        if name in _HEADERS:
            vendor, actions = _HEADERS[name]
            if value.strip().lower() in actions:
                return Challenge(vendor, f"the header {name}: {value.strip()}")
    if reply.status >= 400 and reply.status not in _REGISTERED and not is_transient(reply):
        return Challenge("the firewall", f"the status {reply.status}, which HTTP does not have")
    body = reply.body
    if not body or len(body) > MAX_BYTES or _has_more_links(body, MAX_LINKS):
        return None
    low = body.lower()
    for vendor, mark, token, found in _MARKUP:
        if token in low and found(low):  # a plain search first: small pages are frequent
            return Challenge(vendor, mark)
    bare = _bare(reply) if len(body) <= MAX_BARE_BYTES else None
    is_challenge = bare is not None and bare.speaks and len(bare.signs) >= MIN_SIGNS
    return Challenge("the firewall", f"a bare page that {' and '.join(bare.signs)}") if bare and is_challenge else None


def doubtful_text(reply: Reply, *, was_whole: bool) -> str:
    """What a reply says that may be a challenge, but has too few signs of one; "" for any other reply.

    No sign is needed if its URL had links before (``was_whole``): the reply lacks the template of the site. Redirects,
    a 404, a 410, forms with a password, a reply that asks for a login by ``WWW-Authenticate`` (RFC 9110, section
    11.6.1) and an error page that speaks of permission are the site's own. So may a 200 be
    that has no words: a page that scripts fill. Words with figures, and those of the URL, do not count: challenges
    repeat them.
    """
    if not 0 < len(reply.body) <= MAX_BARE_BYTES or _has_more_links(reply.body, MAX_LINKS):
        return ""
    if reply.header("www-authenticate"):
        return ""
    bare, low = _bare(reply), reply.body.lower()
    is_own = reply.status in _GONE or 300 <= reply.status < 400 or is_transient(reply) or _has_fields(low)
    if was_whole and not is_own:
        text = _text(low if reply.status not in ANSWERS else _unscripted(b" ", low))
        text = text if text.strip() or reply.status == HTTPStatus.OK else "nothing"
    elif bare is not None and bare.speaks and len(bare.signs) >= MIN_SIGNS - 1:
        text = bare.text
    else:
        return ""
    if reply.status not in ANSWERS and _says_forbidden(text):
        return ""
    own = {*_plain_words(unquote(reply.url).lower())}
    return " ".join(word for word in _plain_words(text) if word not in own)


class _Bare(NamedTuple):
    """The signs of a bare document, whether these suffice, and its text in lower case."""

    signs: Sequence[str]
    speaks: bool
    text: str


@lru_cache(maxsize=1)  # each reply is asked about twice
def _bare(reply: Reply) -> _Bare | None:
    """What is in a bare document; None when it is the site's own, or when its code has no sign."""
    low = reply.body.lower()
    code = [sign for sign, tokens, found in _CODE if any(token in low for token in tokens) and found(low)]
    code += ["refreshes itself by a header"] if reply.header("refresh") else []
    if b"location.reload(" in low or b".submit()" in low or (b"location" in low and _goes_to(reply.url, low)):
        code.append(_RELOADS)
    if is_refusal := reply.status not in ANSWERS and not reply.header("www-authenticate"):
        code.append(f"has status {reply.status}")
    if not code or low.lstrip().startswith(b"<?xml") or _has_fields(low):
        return None
    if _RELOADS in code and b"document.cookie" in low and not _shown(_unscripted(b" ", low)).strip():
        code.append(_COOKIE)
    text = _text(low)
    code += [] if text.strip() else ["says nothing"]
    words = [sign for sign, found in _WORDS if found(text) and (is_refusal or sign not in _SHOWS)]
    if len(text.split()) > MAX_WORDS or (is_transient(reply) and not {_ASKS, _CHECKS}.intersection(words)):
        return None
    is_script = _COOKIE in code or (_HIDES in code and len(code) >= MIN_SIGNS)
    return _Bare([*words, *code], is_script or bool(words and is_refusal) or words not in ([], [_WAITS]), text)


def _goes_to(url: Url, low: bytes) -> bool:
    """Whether a script of a body in lower case loads a URL once more, with another query at most."""
    place = url.partition("?")[0].partition(":")[2].lower()
    names = {f"http:{place}", f"https:{place}", place, place[place.find("/", 2) :]}
    names.discard("/")  # that may be what comes before the name of another page
    return any(found[1].decode(errors="replace") in names for found in _locations(low))


def _has_more_links(body: bytes, most: int) -> bool:
    """Whether a body has more links. Stops at the first one too many: most pages have it near their start."""
    links = 0
    for tag in (b"<a ", b"<A "):
        at = body.find(tag)
        while at >= 0:
            links += 1
            if links > most:
                return True
            at = body.find(tag, at + 3)
    return False


def _text(low: bytes) -> str:
    return unescape(_shown(low).decode(errors="replace")).lower()


def _shown(low: bytes) -> bytes:
    """What a reader without scripts sees of a body in lower case, in linear time."""
    shown: list[bytes] = []
    at = 0
    endless: set[bytes] = set()  # elements that no end tag follows
    for start in _hidden_start(low):
        name = start[1] or b"!--"
        if start.start() < at or name in endless:
            continue
        end = low.find(b"</" + name if start[1] else b"-->", start.end())
        if end < 0:
            endless.add(name)
            continue
        shown.append(low[at : start.start()])
        at = end if start[1] else end + 3
    return _tags(b" ", b" ".join([*shown, low[at:]]))


def remedy(vendors: str, user_agent: str) -> str:
    """What the owner of a site does about challenges, as the end of a sentence. ``vendors`` names the firewalls."""
    return (
        f"let Siteatlas through in the settings of {vendors}: by the IP address of this machine, by the user agent "
        f"{user_agent!r}, or by a secret header that you send with --header"
    )
