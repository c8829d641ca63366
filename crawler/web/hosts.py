"""Which names the daemon answers to. A page of another site that a browser was led here by is told nothing.

Without a login, whoever can make a browser send requests here could read what it answers: a site whose name is
suddenly that of this machine ("DNS rebinding"). Its requests carry that site's name in Host, so that they are known.
"""

import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

_ANY: Final = "*"
_authority = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/?#]+))(?::[0-9]*)?").fullmatch


class Hosts:
    """The names that are answered: the loopback's, all addresses, the machine's, and those of ``named``.

    An address in Host is what was dialled, so that it is no other site's name. With ``named`` "*" all are answered.
    """

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._named = {name.lower().rstrip(".") for name in named} | {
            "localhost",
            socket.gethostname().lower(),
        }

    def knows(self, authority: str) -> bool:
        """Whether a request for this ``host[:port]`` is answered; "" is of HTTP/1.0, which no browser speaks."""
        if not authority or _ANY in self._named:
            return True
        name = host_of(authority)
        return name in self._named or name.endswith(".localhost") or _is_address(name)


def host_of(authority: str) -> str:
    """The name in ``host[:port]``, without brackets and without the dot that may end it; "" when it is none."""
    found = _authority(authority.lower())
    return (found[1] or found[2]).rstrip(".") if found else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
