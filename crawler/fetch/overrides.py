"""Addresses that the operator gave for a host and port, in the place of a lookup (``--resolve``, as curl has it)."""

import ipaddress
import re
from collections.abc import Mapping

from crawler.fetch.address import is_numeric
from crawler.fetch.origins import Resolver, system_resolver
from crawler.url.normalize import InvalidUrl, host, normalise

_WISH = re.compile(r"([^\[\]:/?#@*+-][^\[\]:/?#@*]*|\[[^\]/?#@]*\]):([0-9]{1,5}):(.+)").fullmatch
_SHAPE = "HOST:PORT:ADDRESS, like www.example.com:443:10.0.0.5"


def read_override(text: str) -> tuple[str, tuple[str, ...]]:
    """The ``host:port`` and the addresses, best first, of ``HOST:PORT:ADDRESS[,ADDRESS]…``.

    An IPv6 address may stand in brackets. Raises ValueError with a sentence for what is none, for a host that is an
    address already, and for an address that is none. See https://curl.se/docs/manpage.html#--resolve, whose wildcards
    and prefixes are not taken: an address for every host would take in hosts that only pages name.
    """
    wish = _WISH(text.strip())
    if wish is None or not 0 < int(wish[2]) < 65_536:
        raise ValueError(f"{text!r} is not {_SHAPE}")
    try:
        name = host(normalise(f"http://{wish[1]}/")).strip("[]")
    except InvalidUrl as error:
        raise ValueError(f"{text!r} is not {_SHAPE}: {error}") from None
    if is_numeric(name):
        raise ValueError(f"{text!r}: {name} is an address already, and needs no other")
    return f"{name}:{int(wish[2])}", tuple(_address(part, text) for part in wish[3].split(","))


def overriding(overrides: Mapping[str, tuple[str, ...]], otherwise: Resolver = system_resolver) -> Resolver:
    """A resolver that knows these addresses by ``host:port`` and asks another one for all else."""

    async def resolve(name: str, port: int) -> list[str]:
        given = overrides.get(f"{name}:{port}")
        return list(given) if given else await otherwise(name, port)

    return resolve


def _address(part: str, text: str) -> str:
    written = part.strip()
    bare = written[1:-1] if written.startswith("[") and written.endswith("]") else written
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        raise ValueError(f"{text!r}: {written!r} is no IP address; write {_SHAPE}") from None
