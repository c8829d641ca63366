"""The target of a redirect. Pure. RFC 9110 15.4: https://www.rfc-editor.org/rfc/rfc9110#section-15.4."""

import re
from typing import Final

from crawler.model import Reply, Url
from crawler.url.normalize import DEFAULT_PARAMS, InvalidUrl, join_url
from crawler.url.params import UrlParams

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_control = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]").search


def redirect_target(reply: Reply, params: UrlParams = DEFAULT_PARAMS) -> Url | InvalidUrl:
    """The target of a redirect: its Location, resolved against the requested URL.

    Codes of the refusal: ``redirect.bad_location`` (missing, empty, a fragment only, control characters, no URL),
    ``redirect.scheme`` (not http or https), ``redirect.loop`` (the URL itself).
    """
    location = (reply.header("location") or "").strip(" \t\r\n")
    if not location or location.startswith("#"):
        reason = "a redirect without a Location" if not location else "a Location that is a fragment only"
        return InvalidUrl("redirect.bad_location", reason)
    if _control(location):
        return InvalidUrl("redirect.bad_location", f"a Location with control characters: {location[:100]!a}")
    try:
        target = join_url(reply.url, location, params)
    except InvalidUrl as error:
        code = "redirect.scheme" if error.code == "url.scheme" else "redirect.bad_location"
        return InvalidUrl(code, error.message)
    if target == reply.url:
        wants = (
            " and sets a cookie, but Siteatlas keeps none. Set it with --cookie" if reply.header("set-cookie") else ""
        )
        return InvalidUrl("redirect.loop", f"it redirects to itself{wants}")
    return target
