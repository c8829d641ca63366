"""The limits of the protocols, each with its source."""

from typing import Final

# https://www.sitemaps.org/protocol.html#index ("no more than 50,000 URLs and … no larger than 50MB (52,428,800 bytes)")
MAX_URLS: Final = 50_000
MAX_BYTES: Final = 52_428_800  # uncompressed, head and foot included
MAX_CHILDREN: Final = 50_000  # sitemaps in one index; the index has MAX_BYTES too

# https://www.sitemaps.org/protocol.html#locdef ("must be less than 2,048 characters")
MAX_LOC: Final = 2_047  # characters of the URL itself, before XML escaping
# https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd (tLoc, minLength)
MIN_LOC: Final = 12

# https://www.sitemaps.org/protocol.html#changefreqdef
CHANGE_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})

# https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
MAX_IMAGES: Final = 1_000  # per url

# https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
MAX_VIDEO_DESCRIPTION: Final = 2_048  # characters
MAX_VIDEO_DURATION: Final = 28_800  # seconds; at least 1
MAX_VIDEO_RATING: Final = 5.0
MAX_VIDEO_TAGS: Final = 32
MAX_VIDEO_UPLOADER: Final = 255  # characters
# https://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd (title, maxLength)
MAX_VIDEO_TITLE: Final = 100  # characters

# https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
MAX_NEWS: Final = 1_000  # articles in one file
NEWS_DAYS: Final = 2  # an article stays in a news sitemap

# https://www.rfc-editor.org/rfc/rfc9309#section-2.5
MAX_ROBOTS_BYTES: Final = 500 * 1024
# https://developers.google.com/search/docs/crawling-indexing/sitemaps/large-sitemaps (indexes that a site may submit)
MAX_ROBOTS_SITEMAPS: Final = 500
