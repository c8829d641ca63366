"""Challenges: recognizes what a firewall responds with in place of a page: a check of the browser, a captcha, a block.

Pure. A challenge is a failure: it says nothing about the page, whatever its status, its robots meta or its text.

Three kinds of marks count, whatever the status of the response:

1. A header that only a challenge has.
2. Markup that only a challenge has, in a bare document: at most :data:`MAX_LINKS` links in :data:`MAX_BYTES`. An
   article about challenges has more links, and its examples of code are escaped. A site behind a firewall has other
   markup of that firewall in every page (``/cdn-cgi/challenge-platform/scripts/jsd``,
   ``/_Incapsula_Resource?SWJIYLWA``, ``challenge.js``, ``x-iinfo``, ``cf-ray``), which therefore does not count.
3. The widget of a captcha, when the document has nothing else: a title or heading that asks for a human, and hardly any
   text (:data:`MAX_WORDS`). A form with a widget in an ordinary page does not count.

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
- Captchas: https://developers.cloudflare.com/turnstile , https://docs.hcaptcha.com ,
  https://developers.google.com/recaptcha/docs/display
"""

import re
from typing import Final, NamedTuple

from crawler.model import Reply

MAX_LINKS: Final = 3
"""Links of a bare document. Challenges have at most a link to the firewall's maker and one to a privacy policy."""
MAX_BYTES: Final = 96 * 1024
"""Bytes of a bare document."""
MAX_WORDS: Final = 120
"""Words of a document that is a captcha and nothing else."""


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
_MARKUP: Final = tuple(
    (vendor, mark, token, re.compile(pattern, re.DOTALL).search)
    for vendor, mark, token, pattern in (
        ("Cloudflare", "_cf_chl_opt", b"_cf_chl_opt", _SCRIPT + rb"_cf_chl_opt\s*="),
        (
            "Cloudflare",
            "orchestrate",
            b"/orchestrate/",
            rb"\A(?>.*?<script\b).*?/cdn-cgi/challenge-platform/h/\w+/orchestrate/",
        ),
        ("Cloudflare", "cf-error-details", b"cf-error-details", rb"<[^<>]+\bid=[\"']?cf-error-details\b"),
        ("Cloudflare", "cf-browser-verification", b"cf-browser-v", rb"<[^<>]+=[\"']?cf-browser-verification\b"),
        ("AWS WAF", "gokuProps", b"gokuprops", _SCRIPT + rb"gokuprops\s*="),
        ("Vercel", "/.well-known/vercel/security", b"vercel/sec", rb"<script[^<>]+/\.well-known/vercel/security/"),
        ("Vercel", "its title", b"vercel security checkpoint", rb"<title>\s*vercel security checkpoint\s*<"),
        ("DataDome", "captcha-delivery.com", b"captcha-delivery", rb"<(?:script|iframe)[^<>]+captcha-delivery\.com/"),
        (
            "DataDome",
            "captcha-delivery.com",
            b"captcha-delivery",
            _SCRIPT + rb"dd\s*=[^<]{0,2000}captcha-delivery\.com",
        ),
        ("Imperva", "a frame of /_Incapsula_Resource", b"_incapsula_", rb"<iframe[^<>]+/_incapsula_resource\?"),
        (
            "Imperva",
            "its incident ID",
            b"incapsula incident",
            rb"<(?:body|iframe)\b[^<>]*>\s*request unsuccessful\. incap",
        ),
        ("Akamai", "sec-if-cpt-container", b"sec-if-cpt", rb"<[^<>]+\bid=[\"']?sec-if-cpt-container\b"),
        ("Akamai", "bm-verify", b"bm-verify=", rb"<meta[^<>]+\bbm-verify="),
        (
            "Akamai",
            "its reference",
            b"reference&#32;",
            rb"\A(?>.*?<title>\s*access denied\s*<).*?reference&#32;&#35;\d",
        ),
        ("Sucuri", "sucuri_cloudproxy_js", b"sucuri_cloudproxy_js", _SCRIPT + rb"sucuri_cloudproxy_js\s*="),
        ("Sucuri", "its title", b"sucuri website firewall", rb"<title>\s*sucuri website firewall\b"),
        ("SiteGround", "/.well-known/sgcaptcha/", b"sgcaptcha", rb"<meta[^<>]+/\.well-known/sgcaptcha/"),
        ("Anubis", "anubis_challenge", b"anubis_challenge", rb"<script[^<>]+\bid=[\"']?anubis_challenge\b"),
        ("HUMAN", "px-captcha", b"px-captcha", rb"<[^<>]+[\"'=]px-captcha\b"),
        ("Kasada", "KPSDK", b"window.kpsdk", rb"<script[^<>]*>\s*window\.kpsdk\s*="),
        ("Alibaba Cloud", "acw_sc__v2", b"acw_sc__v2", _SCRIPT + rb"acw_sc__v2\b"),
        ("DDoS-Guard", "its title", b"ddos-guard", rb"<title>\s*ddos-guard\s*<"),
        (
            "Wordfence",
            "its signature",
            b"generated by wordfence",
            rb"\A(?>.*?<title>(?>[^<]*?access)[^<]*+<).*?\bgenerated by wordfence at\b",
        ),
        ("F5", "its support ID", b"support id is", rb"\A(?>.*?<title>\s*request rejected\s*<).*?your support id is"),
    )
)
_WIDGETS: Final = tuple(
    (vendor, re.compile(pattern).search)
    for vendor, pattern in (
        ("Cloudflare Turnstile", rb"\bclass=[\"'][^\"'<>]*\bcf-turnstile\b|<script[^<>]+challenges\.cloudflare\.com/"),
        ("hCaptcha", rb"\bclass=[\"'][^\"'<>]*\bh-captcha\b|<script[^<>]+\bhcaptcha\.com/"),
        ("reCAPTCHA", rb"\bclass=[\"'][^\"'<>]*\bg-recaptcha\b|<script[^<>]+/recaptcha/(?:api|enterprise)"),
    )
)
_asks_for_human = re.compile(
    rb"<(?:title|h[1-3])\b[^<>]*+>[^<]{0,80}\b(?:just a moment|one more step|attention required|access denied"
    rb"|security check|(?:human|browser|security) verification|checking your browser"
    rb"|(?:verify|verifying|confirm|are|that) (?:that )?you(?:'re|&#39;re| are)? (?:not )?(?:an? )?(?:human|robot|bot)"
    rb"|(?:robot|bot|captcha|human) (?:check|challenge))\b"
).search
_hidden_start = re.compile(rb"<(?:(script|style|noscript|svg|template)\b[^<>]*+>|!--)").finditer
_tags = re.compile(rb"<[^<>]*+>").sub


def detect_challenge(reply: Reply) -> Challenge | None:
    """The challenge that a reply is, or None when it is not one."""
    for name, value in reply.headers:
        if name in _HEADERS:
            vendor, actions = _HEADERS[name]
            if value.strip().lower() in actions:
                return Challenge(vendor, f"the header {name}: {value.strip()}")
    body = reply.body
    if not body or len(body) > MAX_BYTES or _has_more_links(body, MAX_LINKS):
        return None
    low = body.lower()
    for vendor, mark, token, found in _MARKUP:
        if token in low and found(low):  # a plain search first: small pages are frequent
            return Challenge(vendor, mark)
    if not _asks_for_human(low):
        return None
    for vendor, found in _WIDGETS:
        if found(low) and _count_words(low) <= MAX_WORDS:
            return Challenge(vendor, "a captcha and nothing else")
    return None


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


def _count_words(low: bytes) -> int:
    """The words of a body in lower case that a reader sees, in linear time."""
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
    return len(_tags(b" ", b" ".join([*shown, low[at:]])).split())


def remedy(vendors: str, user_agent: str) -> str:
    """What the owner of a site does about challenges, as the end of a sentence. ``vendors`` names the firewalls."""
    return (
        f"let Siteatlas through in the settings of {vendors}: by the IP address of this machine, by the user agent "
        f"{user_agent!r}, or by a secret header that you send with --header"
    )
