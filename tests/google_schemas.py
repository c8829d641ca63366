"""Owns the XSDs of Google's extensions, put together from tables of their tags: sequence, types, limits, attributes.

https://www.google.com/schemas/sitemap-image/1.1/sitemap-image.xsd, …/sitemap-video/1.1/sitemap-video.xsd,
…/sitemap-news/0.9/sitemap-news.xsd and …/sitemap-mobile/1.0/sitemap-mobile.xsd
"""

_XSD = "http://www.w3.org/2001/XMLSchema"
_GOOGLE = "http://www.google.com/schemas/sitemap-"

_GENRE = "(PressRelease|Satire|Blog|OpEd|Opinion|UserGenerated)"
# Simple types: the name, the base, and its facets.
_TYPES = {
    "yesno": ("xsd:string", 'pattern value="yes|Yes|YES|no|No|NO"'),
    "relationship": ("xsd:string", 'pattern value="allow|deny"'),
    "countries": ("xsd:string", 'pattern value="([A-Z]{2}( +[A-Z]{2})*)?"'),
    "platforms": ("xsd:string", 'pattern value="((web|mobile|tv)( (web|mobile|tv))*)?"'),
    "seconds": ("xsd:nonNegativeInteger", 'maxInclusive value="28800"'),
    "rating": ("xsd:decimal", 'minInclusive value="0"', 'maxInclusive value="5"'),
    "amount": ("xsd:string", r'pattern value="([0-9]+(\.[0-9]*)?|\.[0-9]+)?"'),
    "currency": ("xsd:string", 'pattern value="[A-Z]{3}|"'),
    "purchase": ("xsd:string", 'pattern value="purchase|PURCHASE|rent|RENT"'),
    "resolution": ("xsd:string", 'pattern value="sd|SD|hd|HD"'),
    "show": ("xsd:string", 'pattern value="full|preview|clip|interview|news|other"'),
    "idtype": ("xsd:string", 'pattern value="tms:series|tms:program|rovi:series|rovi:program|freebase|url"'),
    "language": ("xsd:string", 'pattern value="zh-cn|zh-tw|[a-z]{2,3}"'),
    "access": ("xsd:string", 'pattern value="Subscription|Registration"'),
    "genres": ("xsd:string", f'pattern value="{_GENRE}(, *{_GENRE})*"'),
    "tickers": ("xsd:string", r'pattern value="(\w+:\w+(, *\w+:\w+){0,4})?"'),
    **{f"text{most}": ("xsd:string", f'maxLength value="{most}"') for most in (100, 255, 256, 2048)},
}
# A tag: its name, how often it may occur, and its type or, as a list, the tags inside it; then attributes with types.
_Tag = tuple
_IMAGE: list[_Tag] = [
    ("loc", "1..1", "xsd:anyURI"),
    ("caption", "0..1", "xsd:string"),
    ("geo_location", "0..1", "xsd:string"),
    ("title", "0..1", "xsd:string"),
    ("license", "0..1", "xsd:anyURI"),
]
_VIDEO: list[_Tag] = [
    ("thumbnail_loc", "1..1", "xsd:anyURI"),
    ("title", "1..1", "text100"),
    ("description", "1..1", "text2048"),
    ("content_loc", "0..1", "xsd:anyURI"),
    ("player_loc", "0..1", "xsd:anyURI", "allow_embed yesno", "autoplay xsd:string"),
    ("duration", "0..1", "seconds"),
    ("expiration_date", "0..1", "moment"),
    ("rating", "0..1", "rating"),
    ("content_segment_loc", "0..unbounded", "xsd:anyURI", "duration seconds"),
    ("view_count", "0..1", "xsd:nonNegativeInteger"),
    ("publication_date", "0..1", "moment"),
    ("tag", "0..32", "xsd:string"),
    ("category", "0..1", "text256"),
    ("family_friendly", "0..1", "yesno"),
    ("restriction", "0..1", "countries", "relationship relationship!"),
    ("gallery_loc", "0..1", "xsd:anyURI", "title xsd:string"),
    ("price", "0..unbounded", "amount", "currency currency", "type purchase", "resolution resolution"),
    ("requires_subscription", "0..1", "yesno"),
    ("uploader", "0..1", "text255", "info xsd:anyURI"),
    (
        "tvshow",
        "0..1",
        [
            ("show_title", "1..1", "xsd:string"),
            ("video_type", "1..1", "show"),
            ("episode_title", "0..1", "xsd:string"),
            ("season_number", "0..1", "xsd:positiveInteger"),
            ("episode_number", "0..1", "xsd:positiveInteger"),
            ("premier_date", "0..1", "moment"),
        ],
    ),
    ("platform", "0..1", "platforms", "relationship relationship!"),
    ("live", "0..1", "yesno"),
    ("id", "0..unbounded", "xsd:string", "type idtype!"),
]
_NEWS: list[_Tag] = [
    ("publication", "1..1", [("name", "1..1", "xsd:string"), ("language", "1..1", "language")]),
    ("access", "0..1", "access"),
    ("genres", "0..1", "genres"),
    ("publication_date", "1..1", "moment"),
    ("title", "1..1", "xsd:string"),
    ("keywords", "0..1", "xsd:string"),
    ("stock_tickers", "0..1", "tickers"),
]


def extensions() -> dict[str, tuple[str, bytes]]:
    """For each file name the namespace and the schema."""
    made = {
        "image.xsd": ("image/1.1", "image", _IMAGE),
        "video.xsd": ("video/1.1", "video", _VIDEO),
        "news.xsd": ("news/0.9", "news", _NEWS),
        "mobile.xsd": ("mobile/1.0", "mobile", []),
    }
    return {
        file: (_GOOGLE + end, _schema(_GOOGLE + end, _tag(root, "", tags))) for file, (end, root, tags) in made.items()
    }


def _schema(namespace: str, root: str) -> bytes:
    simple = "".join(
        f'<xsd:simpleType name="{name}"><xsd:restriction base="{base}">'
        + "".join(f"<xsd:{facet}/>" for facet in facets)
        + "</xsd:restriction></xsd:simpleType>"
        for name, (base, *facets) in _TYPES.items()
    )
    return (
        f'<xsd:schema xmlns:xsd="{_XSD}" targetNamespace="{namespace}" xmlns="{namespace}" '
        f'elementFormDefault="qualified">{simple}<xsd:simpleType name="moment">'
        f'<xsd:union memberTypes="xsd:date xsd:dateTime"/></xsd:simpleType>{root}</xsd:schema>'
    ).encode()


def _tag(name: str, often: str, kind: object, *attributes: str) -> str:
    low, _, high = often.partition("..")
    occurs = f' minOccurs="{low}" maxOccurs="{high}"' if often else ""
    if isinstance(kind, list):
        inner = f"<xsd:sequence>{''.join(_tag(*row) for row in kind)}</xsd:sequence>"
    else:
        declared = "".join(_attribute(*attribute.split()) for attribute in attributes)
        inner = f'<xsd:simpleContent><xsd:extension base="{kind}">{declared}</xsd:extension></xsd:simpleContent>'
    return f'<xsd:element name="{name}"{occurs}><xsd:complexType>{inner}</xsd:complexType></xsd:element>'


def _attribute(name: str, kind: str) -> str:
    needed = ' use="required"' if kind.endswith("!") else ""
    return f'<xsd:attribute name="{name}" type="{kind.rstrip("!")}"{needed}/>'
