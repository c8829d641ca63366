"""Owns what a root element says of its document: the format, and what is wrong with its name or namespace. Pure."""

from sitemap import namespaces
from sitemap.formats import FEEDS, Format
from sitemap.reading.extensions import Say
from sitemap.reading.vocabulary import ROOTS


def root_format(name: str, local: str, uri: str, say: Say) -> Format | None:
    """The format by the name of the root, as it stands and its local part in lower case, and its namespace; or None."""
    found = ROOTS.get(local)
    if found is None:
        if local == "html":
            say("sitemap.not_xml", "this is an HTML page, not a sitemap")
        else:
            say("sitemap.root", f"the root element {name[:64]!r} is no sitemap's or feed's")
    elif local in {"url", "sitemap"}:
        say("sitemap.root", f"the document begins with {local!r}, its root is missing")
    elif found not in FEEDS and uri != namespaces.SITEMAP:
        said = f"is {uri[:120]!r}" if uri else "is missing"
        say("sitemap.namespace", f"the namespace {said}, it must be {namespaces.SITEMAP}")
    return found
