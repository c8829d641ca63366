"""Reads the files of addresses that operators of bots publish, as JSON.

A file has ``prefixes``, each an ``ipv4Prefix`` or an ``ipv6Prefix``, and its ``creationTime``: that of Google
(https://developers.google.com/crawling/docs/crawlers-fetchers/verify-google-requests), OpenAI, Perplexity and others.
"""

import json
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path

from crawler.audit.sources.logs.bots import BOTS, BotAddresses
from crawler.errors import UsageError


def read_addresses(files: Mapping[str, str]) -> dict[str, BotAddresses]:
    """The addresses by the name of the bot. Raises UsageError."""
    return {name: _read_file(name, file) for name, file in files.items()}


def _read_file(name: str, file: str) -> BotAddresses:
    key = f"audit.bot_addresses.{name}"
    if name not in BOTS:
        raise UsageError(f"{key}: no bot has this name. siteatlas audit --log FILE shows the names")
    try:
        value = json.loads(Path(file).read_bytes())
        prefixes = [prefix for each in value["prefixes"] for prefix in each.values() if isinstance(prefix, str)]
        networks = tuple(ip_network(prefix) for prefix in prefixes)
    except OSError as error:
        raise UsageError(f"{key}: cannot read {file}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        networks = ()
    if not networks:
        remedy = "Give the JSON file with prefixes that the operator of the bot publishes"
        raise UsageError(f"{key}: {file} has no list of addresses. {remedy}")
    return BotAddresses(str(value.get("creationTime", ""))[:10], networks)
