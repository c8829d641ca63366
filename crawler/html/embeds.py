"""Players of well-known video sites: which address plays which video, and what its thumbnail is if a rule says so."""

import re
from typing import Final

from msgspec import Struct

_ID: Final = r"([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])"
_youtube = re.compile(
    rf"https?://(?:www\.|m\.)?(?:youtube(?:-nocookie)?\.com/(?:embed/|v/|shorts/|live/|watch\?(?:[^#]*&)?v=)|youtu\.be/){_ID}"
).match
_vimeo = re.compile(
    r"https?://(?:player\.vimeo\.com/video/|(?:www\.)?vimeo\.com/(?:[a-z]+/)*)([0-9]{4,})"
).match
_dailymotion = re.compile(
    r"https?://(?:www\.|geo\.)?(?:dailymotion\.com/(?:embed/)?video/|dailymotion\.com/player[^?]*\?(?:[^#]*&)?video="
    r"|dai\.ly/)([A-Za-z0-9]{5,})"
).match
_other = re.compile(
    r"https?://(?:fast\.wistia\.(?:net|com)/embed/|(?:www\.)?loom\.com/embed/|player\.twitch\.tv/\?|streamable\.com/[eo]/"
    r"|play\.vidyard\.com/|players\.brightcove\.net/|cdn\.jwplayer\.com/players/|rutube\.ru/play/embed/"
    r"|(?:www\.)?tiktok\.com/(?:embed|player)/|embed\.ted\.com/|player\.bilibili\.com/|(?:www\.)?facebook\.com/plugins/video"
    r"|vk\.com/video_ext\.php|tube\.[^/]+/videos/embed/|[^/]+/videos/embed/[0-9a-zA-Z-]{20,})",
).match


class Embed(Struct, frozen=True):
    """A video of a known site: ``key`` is equal for all its addresses, ``thumbnail`` "" when no rule gives it."""

    key: str
    player: str
    thumbnail: str = ""


def embed(url: str) -> Embed | None:
    """The video that an address plays or shows, or None when it is none that is known."""
    if found := _youtube(url):
        name = found[1]
        if name == "videoseries":
            return None
        return Embed(
            f"youtube:{name}",
            f"https://www.youtube.com/embed/{name}",
            f"https://i.ytimg.com/vi/{name}/hqdefault.jpg",
        )
    if found := _vimeo(url):
        return Embed(f"vimeo:{found[1]}", f"https://player.vimeo.com/video/{found[1]}")
    if found := _dailymotion(url):
        name = found[1]
        return Embed(
            f"dailymotion:{name}",
            f"https://www.dailymotion.com/embed/video/{name}",
            f"https://www.dailymotion.com/thumbnail/video/{name}",
        )
    return Embed(url, url) if _other(url) else None
