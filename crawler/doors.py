"""The other names of a site: its host with and without ``www.``, by either scheme. Pure."""

from crawler.model import Url
from crawler.url import host, origin


def doors(start: Url) -> list[str]:
    """The origins that lead to the same site as that of ``start``, as nearly all servers have it, without that one."""
    home = origin(start)
    port = home[home.index("://") + 3 + len(host(start)) :]
    bare = host(start).removeprefix("www.")
    every = (f"{scheme}://{www}{bare}{port}" for scheme in ("https", "http") for www in ("", "www."))
    return [each for each in every if each != home]
