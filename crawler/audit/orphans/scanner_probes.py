"""URLs that vulnerability scanners request on every server: their requests say nothing about the site. Pure.

The tables name programs with known holes, files that are published by mistake, and consoles.
"""

import re
from typing import Final

from crawler.model import Url

_PROBES_ANYWHERE: Final = r"""
wp-[a-z-]+\.php wp-admin wp-includes wp-config[^/?]* xmlrpc\.php wlwmanifest\.xml
\.env[^/?]* \.git \.svn \.hg \.aws \.ssh \.vscode \.ds_store \.ht[a-z]+
phpmyadmin[^/?]* pma myadmin adminer[^/?]*\.php phpunit eval-stdin\.php phpinfo(?:\.php)?
cgi-bin actuator _ignition _profiler server-status web-inf hnap1 boaform id_rsa
(?:info|shell|c99|alfa|upload|setup-config)\.php etc/passwd telescope/requests
"""
# Names that a site may use itself below the root.
_PROBES_AT_ROOT: Final = r"""
admin administrator manager(?:/html)? console backup setup remote(?:/login)? solr(?:/.*)?
(?:config|install|admin|login|test)\.php druid(?:/.*)? geoserver(?:/.*)? sdk owa(?:/.*)?
"""
_probe = re.compile(
    rf"https?://[^/?]*+(?:/+(?:{'|'.join(_PROBES_AT_ROOT.split())})/?(?:\?|$)"
    rf"|[^?]*/(?:{'|'.join(_PROBES_ANYWHERE.split())})(?:[/?]|$))",
    re.IGNORECASE,
).match


def is_scanner_probe(url: Url) -> bool:
    """Whether a URL has such a path."""
    return bool(_probe(url))
