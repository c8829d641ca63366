"""Which URLs are what scanners ask every server for, whatever it runs: hits on them say nothing of a site.

Names and places of programs with known holes, of files that are left lying about by mistake, and of consoles.
"""

import re
from typing import Final

from crawler.model import Url

_PROBES_ANYWHERE: Final = (
    *(r"wp-[a-z-]+\.php", "wp-admin", "wp-includes", r"wp-config[^/?]*", r"xmlrpc\.php", r"wlwmanifest\.xml"),
    *(
        r"\.env[^/?]*",
        r"\.git",
        r"\.svn",
        r"\.hg",
        r"\.aws",
        r"\.ssh",
        r"\.vscode",
        r"\.ds_store",
        r"\.ht[a-z]+",
    ),
    *(
        "phpmyadmin[^/?]*",
        "pma",
        "myadmin",
        r"adminer[^/?]*\.php",
        "phpunit",
        r"eval-stdin\.php",
        r"phpinfo(?:\.php)?",
    ),
    *(
        "cgi-bin",
        "actuator",
        "_ignition",
        "_profiler",
        "server-status",
        "web-inf",
        "hnap1",
        "boaform",
        "id_rsa",
    ),
    *(r"(?:info|shell|c99|alfa|upload|setup-config)\.php", r"etc/passwd", r"telescope/requests"),
)
_PROBES_AT_ROOT: Final = (  # names that other sites may use further down
    *(
        "admin",
        "administrator",
        "manager(?:/html)?",
        "console",
        "backup",
        "setup",
        "remote(?:/login)?",
        "solr(?:/.*)?",
    ),
    *(
        r"(?:config|install|admin|login|test)\.php",
        "druid(?:/.*)?",
        "geoserver(?:/.*)?",
        "sdk",
        "owa(?:/.*)?",
    ),
)
_probe = re.compile(
    rf"https?://[^/?]*(?:/+(?:{'|'.join(_PROBES_AT_ROOT)})/?(?:\?|$)|[^?]*/(?:{'|'.join(_PROBES_ANYWHERE)})(?:[/?]|$))",
    re.IGNORECASE,
).match


def is_scanner_probe(url: Url) -> bool:
    """Whether a URL has the path of such a thing."""
    return bool(_probe(url))
