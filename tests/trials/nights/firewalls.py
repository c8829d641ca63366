"""Challenges of firewalls: those of six vendors as they send them, and those of firewalls that nobody knows.

In the texts, ``%x8`` is eight random bytes in hexadecimal digits, ``%n9`` a random number of nine digits, new for each
request; ``%host`` and ``%path`` are what was asked for, ``%robots`` the place of a noindex.
"""

import random
import re
from dataclasses import dataclass
from html import escape

from .answers import Asked, Reply, html
from .site import title

_NOINDEX = '<meta name="robots" content="noindex,nofollow">'


@dataclass(frozen=True)
class Challenge:
    """What a firewall sends instead of a page, with each of the statuses that it has for that."""

    statuses: tuple[int, ...]
    headers: tuple[tuple[str, str], ...]
    text: str

    def reply(self, asked: Asked, status: int, noindex: bool) -> Reply:
        text = self.text.replace("%robots", _NOINDEX if noindex else "")
        headers = tuple((name, _filled(value, asked)) for name, value in self.headers)
        return Reply(status, _filled(text, asked).encode(), headers)


def _filled(text: str, asked: Asked) -> str:
    text = text.replace("%host", asked.host).replace("%path", escape(asked.path))
    text = re.sub("%x([0-9]+)", lambda found: asked.dice.randbytes(int(found[1])).hex(), text)
    return re.sub("%n([0-9]+)", lambda found: str(asked.dice.randrange(10 ** int(found[1]))), text)


FIREWALLS = {
    "cloudflare": Challenge(
        (403, 403, 503, 200, 429),
        (("Server", "cloudflare"), ("cf-mitigated", "challenge"), ("CF-RAY", "%x8-FRA")),
        """<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>%robots
<meta http-equiv="refresh" content="360"><style>*{box-sizing:border-box;margin:0;padding:0}</style></head>
<body><div class="main-wrapper" role="main"><div class="main-content"><noscript><div class="h2">
<span id="challenge-error-text">Enable JavaScript and cookies to continue</span></div></noscript></div></div>
<script>(function(){window._cf_chl_opt={cvId:'3',cZone:'%host',cType:'managed',cRay:'%x8',cH:'%x24',
cUPMDTk:'%path?__cf_chl_tk=%x20'};var a=document.createElement('script');
a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=%x8';
document.getElementsByTagName('head')[0].appendChild(a);}());</script></body></html>""",
    ),
    "akamai": Challenge(
        (403,),
        (("Server", "AkamaiGHost"), ("Mime-Version", "1.0")),
        """<HTML><HEAD>
<TITLE>Access Denied</TITLE>%robots
</HEAD><BODY>
<H1>Access Denied</H1>

You don't have permission to access "http&#58;&#47;&#47;%host%path" on this server.<P>
Reference&#32;&#35;18.%x4.%n9.%x4
<P>
https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18.%x4.%n9.%x4
</P>
</BODY>
</HTML>
""",
    ),
    "akamai bot manager": Challenge(
        (200, 429),
        (("Set-Cookie", "ak_bmsc=%x20; path=/"),),
        """<!DOCTYPE html><html lang="en"><head><title>&nbsp;</title>%robots
<meta http-equiv="refresh" content="5; URL='%path?bm-verify=%x60'" /></head><body>
<div id="sec-if-cpt-container" role="main"></div><script src="/_sec/cp_challenge/sec-3-9.js" async defer></script>
<script>var i=1%n9;var j=i+Number('%n3'+'%n4');var xhr=new XMLHttpRequest();
xhr.open('POST','/_sec/verify?provider=interstitial',false);xhr.send(JSON.stringify({'bm-verify':'%x60','pow':j}));
</script></body></html>""",
    ),
    "datadome": Challenge(
        (403, 403, 200, 429),
        (("X-DataDome", "protected"), ("X-DataDome-CID", "%x40"), ("Set-Cookie", "datadome=%x40; Max-Age=31536000")),
        """<html lang="en"><head><title>%host</title>%robots<style>#cmsg{animation: A 1.5s;}@keyframes A{0%{opacity:0;}
99%{opacity:0;}100%{opacity:1;}}</style></head><body style="margin:0">
<p id="cmsg">Please enable JS and disable any ad blocker</p><script data-cfasync="false">
var dd={'rt':'c','cid':'%x40','hsh':'%x15','t':'bv','s':%n5,'host':'geo.captcha-delivery.com'}</script>
<script data-cfasync="false" src="https://ct.captcha-delivery.com/c.js"></script></body></html>""",
    ),
    "imperva": Challenge(
        (200, 200, 403, 503),
        (("X-Iinfo", "%n9-%n9"), ("X-CDN", "Imperva")),
        """<html style="height:100%"><head>%robots<meta name="format-detection" content="telephone=no">
<meta name="viewport" content="initial-scale=1.0"><meta http-equiv="X-UA-Compatible" content="IE=edge,chrome=1">
<script type="text/javascript" src="/_Incapsula_Resource?SWJIYLWA=%x16"></script></head>
<body style="margin:0px;height:100%"><iframe id="main-iframe"
src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=%n2&incident_id=%n9-%n9&edet=12&cinfo=ffff" frameborder=0 width="100%"
height="100%" marginheight="0px">Request unsuccessful. Incapsula incident ID: %n9-%n9</iframe></body></html>""",
    ),
    "aws": Challenge(
        (202, 202, 200),
        (("x-amzn-waf-action", "challenge"), ("Server", "CloudFront")),
        """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title></title>%robots
<script type="text/javascript">window.awsWafCookieDomainList=[];window.gokuProps={"key":"%x60","iv":"%x8",
"context":"%x80"};</script><script src="https://%x6.edge.sdk.awswaf.com/%x6/%x6/challenge.js"></script></head><body>
<div id="challenge-container"></div><script>AwsWafIntegration.saveReferrer();AwsWafIntegration.getToken().then(()=>{
window.location.reload(true);});</script><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to
verify that you're not a robot. This requires JavaScript.</noscript></body></html>""",
    ),
    "aws captcha": Challenge(
        (405,),
        (("x-amzn-waf-action", "captcha"), ("Server", "CloudFront")),
        """<!DOCTYPE html><html lang="en"><head><title>Human Verification</title>%robots
<script src="https://%x6.edge.captcha-sdk.awswaf.com/%x6/jsapi.js"></script></head><body>
<div id="captcha-container"></div><noscript><h1>JavaScript is disabled</h1></noscript></body></html>""",
    ),
    "vercel": Challenge(
        (403, 429, 503, 200),
        (("x-vercel-mitigated", "challenge"), ("x-vercel-challenge-token", "2.%n9.60.%x40"), ("Server", "Vercel")),
        """<!DOCTYPE html><html lang=en><head><title>Vercel Security Checkpoint</title>%robots</head><body><main>
<p id="header-text">We're verifying your browser</p><p id="header-noscript-text">Enable JavaScript to continue</p>
<p id=footer-text>Vercel Security Checkpoint</p></main><script>%x300</script></body></html>""",
    ),
}

_WORDINGS = (
    "Checking your browser before you enter %host.",
    "One more step: confirm that you are human.",
    "Unusual traffic from your network was detected.",
    "Your request was blocked by our security service. Incident %x8.",
    "Please wait while we verify your connection.",
)


def made_firewall(dice: random.Random) -> Challenge:
    """The challenge of a firewall that no list names: its words and its tricks are drawn."""
    name = title(dice).split()[0]
    header = dice.choice(("", f"x-{name.lower()}-challenge", f"x-{name.lower()}-id"))
    head = f"<title>{dice.choice((f'{name} protection', '%host', ''))}</title>%robots"
    body = f"<h2>{dice.choice(_WORDINGS)}</h2><p>{name} · ID %x8</p>"
    if dice.random() < 0.5:
        body += '<form id="challenge-form" method="POST" action="%path"><input type="hidden" value="%x30"></form>'
    if dice.random() < 0.8:
        body += "<script>var t='%x200';setTimeout(function(){location.reload()},4e3)</script>"
    return Challenge((200, 200, 403, 429, 503), ((header, "%x8"),) if header else (), html(head, body).decode())
