"""Challenges of firewalls are recognized on any status, and pages of protected sites are not taken for one."""

import random

import pytest

from crawler.fetch.challenge import ANSWERS, MAX_WORDS, detect_challenge, doubtful_text, remedy
from crawler.model import Reply, Url

HOME = Url("https://a.example/")

CHALLENGES = {
    "Cloudflare": [
        "<title>Just a moment...</title><script>(function(){window._cf_chl_opt = {cvId: '3'};}())</script>",
        "<script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8'></script>",
        '<title>Attention Required! | Cloudflare</title><div id="cf-error-details"><h1>You have been blocked</h1>',
    ],
    "Imperva": [
        '<html><body><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31">Request unsuccessful.</iframe>',
        "<html><body>Request unsuccessful. Incapsula incident ID: 123</body></html>",
    ],
    "DataDome": [
        '<title>a</title><script data-cfasync="false">var dd={"rt":"c","host":"geo.captcha-delivery.com"}</script>',
        '<script src="https://ct.captcha-delivery.com/c.js"></script>',
        '<iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=A"></iframe>',
    ],
    "Akamai": [
        "<TITLE>Access Denied</TITLE>\n<BODY>\nYou have no permission.<P>\nReference&#32;&#35;18&#46;53b06c9</BODY>",
        '<div id="sec-if-cpt-container" role="main">Powered and protected by Akamai</div>',
        '<meta http-equiv="refresh" content="5; URL=\'/?bm-verify=AAQAAAAJ\'" />',
    ],
    "AWS WAF": ['<script>window.awsWafCookieDomainList = [];window.gokuProps = {"key":"A"};</script>'],
    "Vercel": [
        "<title>Vercel Security Checkpoint</title><p>We're verifying your browser",
        '<script src="/.well-known/vercel/security/static/challenge.v2.min.js"></script>',
    ],
    "Sucuri": [
        "<title>Redirected</title><script>var s={},u;for(i=0;i<9;i++){}sucuri_cloudproxy_js='';</script>",
        "<title>Sucuri WebSite Firewall - Access Denied</title>",
    ],
    "SiteGround": ['<meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F&y=ipc:1"></meta>'],
    "Anubis": [
        '<title>Making sure you&#39;re not a bot!</title><script id="anubis_challenge" type="application/json">{}'
    ],
    "HUMAN": ['<title>Access to this page has been denied</title><div id="px-captcha"></div>'],
    "Kasada": ["<script>window.KPSDK={};KPSDK.now=1;</script><script src='/149e/ips.js'></script>"],
    "Alibaba Cloud": ["<script>var arg1='A1';for(var i=0;i<9;i++){}setCookie('acw_sc__v2', x)</script>"],
    "F5": ["<title>Request Rejected</title><body>The requested URL was rejected.<br>Your support ID is: 99"],
    "cPanel": ["<title>Account Suspended</title><h1>Account Suspended</h1><footer>cPanel, L.L.C.</footer>"],
    "Fastly": ['<title>Client Challenge</title><script src="/_fs-ch-1T1wmsGaOgGaSxcX/script.js"></script>'],
    "the load balancer": ["<center><h1>403 Forbidden</h1></center>\r\n<hr><center>awselb/2.0</center>"],
    "the firewall": [
        '<title>Security check</title><h1>Are you a robot?</h1><div class="h-captcha" data-sitekey="1"></div>',
        "<h1>Verify you are human</h1><script src='https://challenges.cloudflare.com/turnstile/v0/api.js'></script>",
        "<title>Robot check</title><form><div class='g-recaptcha' data-sitekey='x'></div></form>",
    ],
}
HEADERS = [
    ("cf-mitigated", "challenge", "Cloudflare"),
    ("x-amzn-waf-action", "challenge", "AWS WAF"),
    ("x-amzn-waf-action", "captcha", "AWS WAF"),
    ("x-vercel-mitigated", "challenge", "Vercel"),
]
ORDINARY_MARKUP = [
    "<script>window.__CF$cv$params={r:'1'};a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>",
    '<script type="text/javascript" src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e"></script>',
    '<script src="https://1.edge.sdk.awswaf.com/1/2/challenge.js" defer></script>',
    "<script>window.ddjskey='A';</script><script src='https://js.datadome.co/tags.js'></script>",
    '<script src="/akam/13/4a1b2c"></script><noscript><img src="/akam/13/pixel_4a1b"></noscript>',
    '<div class="cf-turnstile"></div><script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>',
    '<form><div class="g-recaptcha"></div></form><script src="https://www.google.com/recaptcha/api.js"></script>',
    '<form><div class="h-captcha"></div></form><script src="https://js.hcaptcha.com/1/api.js"></script>',
    "<p>Request unsuccessful. Incapsula incident ID: what does it mean?",
    "<pre>&lt;script&gt;window._cf_chl_opt = {}&lt;/script&gt; &lt;iframe src=/_Incapsula_Resource?1&gt;</pre>",
    "<p>Look for sucuri_cloudproxy_js, px-captcha, acw_sc__v2, gokuProps or captcha-delivery.com in the source.",
    "<h2>Just a moment: how I met my wife</h2>",
    "<p>The requested URL was rejected. Your support ID is what the help desk asks for.",
]


BARE_BUT_HONEST = [
    (403, "<title>403 Forbidden</title><center><h1>403 Forbidden</h1></center><hr><center>nginx/1.26.2</center>"),
    (
        403,
        "<p>You don't have permission.</p><hr><address>Apache/2.4.62 (Debian) Server at 203.0.113.80 Port 80</address>",
    ),
    (403, "<title>403</title><h2>403 - Forbidden: Access is denied.</h2><h3>You do not have permission to view this."),
    (
        403,
        "<title>HTTP Status 403 - Forbidden</title><p>The server understood the request but refuses to authorize it.",
    ),
    (403, '<meta name="robots" content="noindex"><p>Sorry, you are not allowed to access this page.'),
    (403, "<title>Access denied</title><p>You are not allowed to see this. Request ID: 4f3a99b1c2d3e4aa"),
    (403, "<meta http-equiv='refresh' content='1;url=/login'><script>go('/login')</script>Authentication required"),
    (403, "<?xml version='1.0'?><Error><Code>AccessDenied</Code><RequestId>4442587FB7D0A2F9</RequestId></Error>"),
    (404, "<title>Not found</title><p>Your IP address 203.0.113.9 asked for request 4f3a99b1c2d3e4aa, blocked."),
    (404, "<title>Gone fishing</title><meta http-equiv=refresh content='9;url=/'><p>No such page, we go home."),
    (405, "<title>405 Method Not Allowed</title><h1>Method Not Allowed</h1>"),
    (451, "<title>Unavailable for legal reasons</title><p>This is blocked in your country."),
    (503, "<title>Back soon</title><meta http-equiv=refresh content=60><p>Please wait a moment, we are working."),
    (200, "<title>App</title><script src=/main.js></script><noscript>You need to enable JavaScript to run this app."),
    (
        200,
        "<meta name=robots content=noindex><script src=//a.ex/recaptcha.js></script>Use JS!<script>location.reload()",
    ),
    (200, "<h1>Are you of legal drinking age?</h1><button onclick=\"document.cookie='a=1';location.reload()\">Yes"),
    (200, "<p>We use cookies.</p><button onclick=\"document.cookie='a=1';location.reload()\">Accept"),
    (200, "<title>Protected</title><meta name=robots content=noindex><p>You are blocked. <input type=password>"),
    (
        200,
        "<title>Robots</title><canvas></canvas><p>You are a robot. Please wait.<script>var _0x12ab;location.reload()",
    ),
    (200, "<title>Download</title><meta http-equiv=refresh content='5;url=/f'><p>Please wait. SHA 4f3a99b1c2d3e4aa5b"),
    (200, "<title>Contact</title><textarea></textarea><div class=g-recaptcha></div><p>Protected by reCAPTCHA."),
]


def reply(body: str, status: int = 200, **headers: str) -> Reply:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(HOME, status, pairs, body.encode(), 0.0, 0.1)


@pytest.mark.parametrize(("vendor", "body"), [(vendor, body) for vendor, all_ in CHALLENGES.items() for body in all_])
def test_ours_a_challenge_is_known_by_its_markup_whatever_the_status(vendor: str, body: str) -> None:
    for status in (200, 202, 307, 403, 405, 429, 503):
        challenge = detect_challenge(reply(body, status))
        assert challenge
        assert challenge.vendor == vendor
        assert f"{vendor} responded with a challenge" in challenge.reason


@pytest.mark.parametrize(("name", "value", "vendor"), HEADERS)
def test_ours_a_challenge_is_known_by_its_header(name: str, value: str, vendor: str) -> None:
    whole_page = "<html>" + '<a href="/">link</a>' * 50
    challenge = detect_challenge(reply(whole_page, 200, **{name: value}))
    assert challenge
    assert challenge.vendor == vendor
    assert detect_challenge(reply(whole_page, 200, **{name: "allow"})) is None


@pytest.mark.parametrize("markup", ORDINARY_MARKUP)
def test_ours_an_ordinary_page_of_a_protected_site_is_not_a_challenge(markup: str) -> None:
    words = random.Random(markup)
    for status in (200, 403, 404, 503):
        for links in (0, 2, 30):
            for count in (0, 40, 400):
                text = " ".join(f"word{words.randrange(999)}" for _ in range(count))
                page = f"<title>Contact</title>{markup}<p>{text}</p>{'<a href=/>link</a>' * links}"
                assert detect_challenge(reply(page, status, server="cloudflare", cf_ray="1", x_iinfo="2")) is None


def test_ours_an_article_that_shows_a_challenge_as_it_is_is_not_one() -> None:
    for bodies in CHALLENGES.values():
        for body in bodies:
            assert detect_challenge(reply(f"<nav>{'<a href=/>link</a>' * 9}</nav>{body}")) is None


@pytest.mark.parametrize(("status", "page"), BARE_BUT_HONEST)
def test_ours_a_bare_page_of_a_site_or_of_its_server_is_not_a_challenge(status: int, page: str) -> None:
    assert detect_challenge(reply(page, status)) is None
    assert doubtful_text(reply(page, status), was_whole=status not in ANSWERS) == ""


def test_ours_what_may_be_a_challenge_reads_the_same_whatever_its_tokens_and_its_url_are() -> None:
    texts = set()
    for path, token in (("harbour", "4f3a99b1"), ("boats", "81c2d3e4")):
        body = f"<title>Nope</title><p>Go away from {path}, {token}.</p>".encode()
        texts.add(doubtful_text(Reply(Url(f"https://a.example/{path}"), 403, (), body, 0.0, 0.1), was_whole=True))
        assert not doubtful_text(Reply(Url(f"https://a.example/{path}"), 403, (), body, 0.0, 0.1), was_whole=False)
    assert texts == {"nope go away from"}


@pytest.mark.parametrize("status", [301, 404, 410, 429, 503])
def test_ours_a_bare_page_is_in_no_doubt_if_its_status_says_why(status: int) -> None:
    assert doubtful_text(reply("<p>Go away.</p>", 200), was_whole=True) == "go away"
    assert not doubtful_text(reply("<p>Go away.</p>", status), was_whole=True)


def test_rfc9110_a_reply_that_asks_for_a_login_is_in_no_doubt() -> None:
    """Section 11.6.1: WWW-Authenticate says what the server asks for."""
    url, body = Url("https://a.example/"), b"<h1>Anmeldung erforderlich</h1>"
    for headers, said in ((), "anmeldung erforderlich"), ((("www-authenticate", 'Basic realm="x"'),), ""):
        assert doubtful_text(Reply(url, 401, headers, body, 0.0, 0.1), was_whole=True) == said


def test_ours_an_empty_page_that_scripts_fill_is_in_no_doubt() -> None:
    shell = "<title>Boats</title><div id=root></div><noscript>Enable JavaScript.</noscript><script src=a.js></script>"
    assert not doubtful_text(reply(shell), was_whole=True)


def test_ours_a_page_about_humans_with_a_widget_is_a_page_when_it_says_something() -> None:
    widget = '<div class="h-captcha"></div>'
    assert detect_challenge(reply(f"<h1>Are you a human?</h1>{widget}"))
    assert detect_challenge(reply(f"<h1>Are you a human?</h1>{'word ' * (MAX_WORDS + 1)}{widget}")) is None


def test_ours_the_remedy_names_the_three_ways_through() -> None:
    told = remedy("Cloudflare", "Siteatlas/1")
    assert all(word in told for word in ("Cloudflare", "IP address", "'Siteatlas/1'", "--header"))
