"""Who made a request, by the name it gave itself: the table of known bots, and the domains they answer from.

Names and tokens are those that the operators publish. Who can be verified by reverse DNS says so himself:
https://developers.google.com/crawling/docs/crawlers-fetchers/verify-google-requests,
https://www.bing.com/webmasters/help/how-to-verify-bingbot-3905dc26, https://support.apple.com/en-us/119829,
https://yandex.com/support/webmaster/robot-workings/check-yandex-robots.html.
"""

import re
from typing import Final

OUR_BOT: Final = "Siteatlas"
"""Our own crawler, whose requests are evidence of nothing."""
NO_USER_AGENT: Final = "no user agent"
OTHER_BOTS: Final = "other bots"
UNVERIFIED_PREFIX: Final = "unverified "

# A bot a line: its name, then "=" and tokens apart by "|" when its name is not how it is known in a log.
_TABLE: Final = """
Googlebot
Googlebot-Image
Googlebot-News
Googlebot-Video
bingbot=bingbot|msnbot|bingpreview|adidxbot
Applebot
Applebot-Extended
YandexBot=yandexbot|yandexmobilebot|yandexrenderresources|yandeximages|yandex.com/bots
Baiduspider
DuckDuckBot
DuckAssistBot
Yahoo Slurp=yahoo! slurp
SeznamBot
PetalBot
Sogou=sogou web spider|sogou pic spider|sogou inst spider
Naver Yeti=yeti/|naverbot
Qwantbot=qwantbot|qwantify
Mojeekbot
Coccocbot
Bravebot
360Spider
Exabot
Google-InspectionTool
GoogleOther
Google AdsBot=adsbot-google|mediapartners-google|mediapartners (googlebot)
Google Storebot=storebot-google
Google fetchers=apis-google|feedfetcher-google|google-read-aloud|google-site-verification|googleproducer|google-safety
Chrome-Lighthouse=chrome-lighthouse|google page speed
GPTBot
ChatGPT-User
OAI-SearchBot
ClaudeBot=claudebot|anthropic-ai|claude-web
Claude-User
Claude-SearchBot
PerplexityBot
Perplexity-User
CCBot
Bytespider
Amazonbot
Meta-ExternalAgent=meta-externalagent|meta-externalfetcher|facebookbot
MistralAI-User
Google-CloudVertexBot
cohere-ai=cohere-ai|cohere-training
Diffbot
YouBot
Timpibot
ImagesiftBot
PanguBot
AI2Bot
omgili=omgili|webzio
facebookexternalhit=facebookexternalhit|facebookcatalog
Twitterbot
LinkedInBot
Slackbot=slackbot|slack-imgproxy
WhatsApp=whatsapp/
TelegramBot
Discordbot
Pinterestbot=pinterestbot|pinterest/0
Redditbot
AhrefsBot
AhrefsSiteAudit
SemrushBot=semrushbot|siteauditbot|splitsignalbot
MJ12bot
DotBot
rogerbot
BLEXBot
DataForSeoBot
serpstatbot
Barkrowler
SEOkicks
Screaming Frog=screaming frog
Sitebulb
SISTRIX
Botify=botify
OnCrawl
Lumar=deepcrawl|lumar
JetOctopus
Seobility
Xenu=xenu link sleuth
archive.org_bot=archive.org_bot|ia_archiver|heritrix
UptimeRobot
Pingdom
StatusCake
Site24x7
Better Stack=better uptime|betterstack
Datadog=datadog
New Relic=newrelicpinger
GTmetrix
Checkly
HetrixTools
updown.io
health checks=elb-healthchecker|googlehc|kube-probe|amazon-route53-health|haproxy|blackbox exporter|check_http|zabbix
"""

SEARCH_ENGINES: Final = frozenset(
    {
        *(
            "Googlebot",
            "Googlebot-Image",
            "Googlebot-News",
            "Googlebot-Video",
            "bingbot",
            "Applebot",
            "YandexBot",
        ),
        *(
            "Baiduspider",
            "DuckDuckBot",
            "Yahoo Slurp",
            "SeznamBot",
            "PetalBot",
            "Sogou",
            "Naver Yeti",
            "Qwantbot",
        ),
        *("Mojeekbot", "Coccocbot", "Bravebot", "360Spider", "Exabot"),
    }
)
"""Those of search engines: they ask for what somebody links, or once had."""

_GENERIC_WORDS: Final = (
    *(
        "bots",
        "crawl",
        "spider",
        "slurp",
        "scrap",
        "archiv",
        "headless",
        "phantomjs",
        "lighthouse",
        "monitor",
    ),
    *("uptime", "validator", "curl", "wget", "python", "java/", "okhttp", "go-http", "libwww", "httpclient"),
    *(
        "http_request",
        "http_client",
        "axios",
        "node-fetch",
        "undici",
        "guzzle",
        "aiohttp",
        "httpx",
        "ruby",
        "perl",
    ),
    *("php/", "postman", "insomnia", "apachebench", "siege", "nikto", "sqlmap", "nmap", "masscan", "zgrab"),
    *("nuclei", "scan", "fetch", "feed", "rss", "preview", "urllib", "linkcheck", "link check", "winhttp"),
    *("powershell", "dataprovider", "researcher"),
)
_bot = re.compile(r"(?<!cu)bot(?![a-z])").search  # Cubot makes telephones

DOMAINS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (
            *("Googlebot", "Googlebot-Image", "Googlebot-News", "Googlebot-Video", "Google-InspectionTool"),
            *("GoogleOther", "Google AdsBot", "Google Storebot", "Google fetchers"),
        ),
        ("googlebot.com", "google.com", "googleusercontent.com"),
    ),
    "bingbot": ("search.msn.com",),
    "Applebot": ("applebot.apple.com",),
    "YandexBot": ("yandex.ru", "yandex.net", "yandex.com"),
    "Baiduspider": ("baidu.com", "baidu.jp"),
    "Yahoo Slurp": ("crawl.yahoo.net",),
    "SeznamBot": ("seznam.cz",),
    "PetalBot": ("petalsearch.com", "aspiegel.com"),
    "Naver Yeti": ("naver.com",),
    "Qwantbot": ("qwant.com",),
    "Mojeekbot": ("mojeek.com",),
    "Amazonbot": ("crawl.amazonbot.amazon",),
    "CCBot": ("crawl.commoncrawl.org",),
    "AhrefsBot": ("ahrefs.com", "ahrefs.net"),
    "SemrushBot": ("semrush.com",),
}
"""The domains that the host names of each bot's addresses end in."""


def _bot_tokens() -> dict[str, str]:
    known: dict[str, str] = {}
    for line in _TABLE.split("\n"):
        name, _, tokens = line.partition("=")
        known |= dict.fromkeys((tokens or name).lower().split("|"), name)
    del known[""]
    return known


_NAMES: Final = _bot_tokens()
_TOKENS: Final = sorted(_NAMES, key=len, reverse=True)


def bot_name(agent: str) -> str:
    """The name of the bot that calls itself so, or "" for what looks like a person's browser.

    It is :data:`OURS` for ourselves; "unverified Googlebot" stays what it is.
    """
    if agent.startswith(UNVERIFIED_PREFIX) and agent.removeprefix(UNVERIFIED_PREFIX) in DOMAINS:
        return agent
    lower = agent.lower()
    if "siteatlas/" in lower:
        return OUR_BOT
    if lower.strip() in ("", "-"):
        return NO_USER_AGENT
    for token in _TOKENS:
        if token in lower:
            return _NAMES[token]
    return OTHER_BOTS if _bot(lower) or any(token in lower for token in _GENERIC_WORDS) else ""
