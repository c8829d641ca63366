"""Owns the XSDs that the tests validate against: fetched once by package name into ``.schemas/``, never committed.

Official copies come from packages: ``sitemap.xsd`` from the npm package ``sitemap``, ``xhtml1-strict.xsd`` and
``xml.xsd`` from the PyPI package ``xmlschema``. No package was found that ships ``siteindex.xsd`` or Google's schemas,
so those are put together here: the index from the types of the official ``sitemap.xsd``, the extensions from
the tables of tags below, which state the sequence, the types and the limits of Google's files.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / ".schemas"
REQUIRED = bool(os.environ.get("SITEATLAS_REQUIRE_ALL"))

_XSD = "http://www.w3.org/2001/XMLSchema"
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"
_VIDEO = "http://www.google.com/schemas/sitemap-video/1.1"
_XHTML = "http://www.w3.org/1999/xhtml"

# https://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd: an xsd:sequence of (name, type, most, attributes).
_VIDEO_TAGS = (
    ("thumbnail_loc", "xsd:anyURI", "1..1", ""),
    ("title", "text100", "1..1", ""),
    ("description", "text2048", "1..1", ""),
    ("content_loc", "xsd:anyURI", "0..1", ""),
    ("player_loc", "xsd:anyURI", "0..1", "allow_embed autoplay"),
    ("duration", "duration", "0..1", ""),
    ("expiration_date", "moment", "0..1", ""),
    ("rating", "rating", "0..1", ""),
    ("view_count", "xsd:nonNegativeInteger", "0..1", ""),
    ("publication_date", "moment", "0..1", ""),
    ("tag", "xsd:string", "0..32", ""),
    ("category", "text256", "0..1", ""),
    ("family_friendly", "yesno", "0..1", ""),
    ("restriction", "countries", "0..1", "relationship!"),
    ("gallery_loc", "xsd:anyURI", "0..1", "title"),
    ("requires_subscription", "yesno", "0..1", ""),
    ("uploader", "text255", "0..1", "info"),
    ("platform", "platforms", "0..1", "relationship!"),
    ("live", "yesno", "0..1", ""),
)
_VIDEO_TYPES = """
<xsd:simpleType name="yesno"><xsd:restriction base="xsd:string"><xsd:pattern value="yes|Yes|YES|no|No|NO"/>
</xsd:restriction></xsd:simpleType>
<xsd:simpleType name="countries"><xsd:restriction base="xsd:string">
<xsd:pattern value="([A-Z]{2}( +[A-Z]{2})*)?"/></xsd:restriction></xsd:simpleType>
<xsd:simpleType name="platforms"><xsd:restriction base="xsd:string">
<xsd:pattern value="((web|mobile|tv)( (web|mobile|tv))*)?"/></xsd:restriction></xsd:simpleType>
<xsd:simpleType name="duration"><xsd:restriction base="xsd:nonNegativeInteger">
<xsd:maxInclusive value="28800"/></xsd:restriction></xsd:simpleType>
<xsd:simpleType name="rating"><xsd:restriction base="xsd:decimal">
<xsd:minInclusive value="0"/><xsd:maxInclusive value="5"/></xsd:restriction></xsd:simpleType>
<xsd:simpleType name="moment"><xsd:union memberTypes="xsd:date xsd:dateTime"/></xsd:simpleType>
""" + "".join(
    f'<xsd:simpleType name="text{most}"><xsd:restriction base="xsd:string"><xsd:maxLength value="{most}"/>'
    f"</xsd:restriction></xsd:simpleType>"
    for most in (100, 255, 256, 2048)
)


class Unavailable(Exception):
    """The packages that ship the schemas could not be fetched."""


@cache
def schema() -> Any:
    """An ``lxml.etree.XMLSchema`` for urlsets with image, video and xhtml extensions, and for indexes."""
    from lxml import etree

    return etree.XMLSchema(etree.parse(str(fetch() / "all.xsd")))


def fetch() -> Path:
    """The folder with all schemas, fetched if they are not there yet. Unavailable when they cannot be had."""
    if (FOLDER / "all.xsd").exists():
        return FOLDER
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        work = Path(name)
        sitemap = _from_npm(work, "sitemap@9.0.1", "package/schema/sitemap.xsd")
        xhtml, xml = _from_pypi(
            work,
            "xmlschema==4.3.2",
            "xmlschema/schemas/XHTML/xhtml1-strict.xsd",
            "xmlschema/schemas/XML/xml.xsd",
        )
        _write("sitemap.xsd", _with_index(sitemap))
        _write("xml.xsd", xml)
        _write("xhtml.xsd", re.sub(rb'schemaLocation="[^"]*xml\.xsd"', b'schemaLocation="xml.xsd"', xhtml))
        _write("image.xsd", _image())
        _write("video.xsd", _video())
        _write("all.xsd", _all())  # last: its presence says that the others are complete
    return FOLDER


def _write(name: str, content: bytes) -> None:
    draft = FOLDER / (name + f".{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(FOLDER / name)


def _run(*command: str, folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=90)
    except (OSError, subprocess.SubprocessError) as error:
        detail = (getattr(error, "stderr", b"") or b"").decode(errors="replace")[-300:]
        raise Unavailable(f"{' '.join(command)} failed: {error} {detail}") from error


def _from_npm(work: Path, package: str, member: str) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"npm is not installed, and {package} is needed")
    _run(npm, "pack", package, folder=work)
    with tarfile.open(next(work.glob("*.tgz"))) as archive:
        file = archive.extractfile(member)
        assert file is not None
        return file.read()


def _from_pypi(work: Path, package: str, *members: str) -> list[bytes]:
    _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", ".", package, folder=work)
    with zipfile.ZipFile(next(work.glob("*.whl"))) as archive:
        return [archive.read(member) for member in members]


def _with_index(sitemap: bytes) -> bytes:
    """The official urlset schema, and beside it the index, which has the same types for its loc and lastmod."""
    index = """
    <xsd:element name="sitemapindex"><xsd:complexType><xsd:sequence>
      <xsd:any namespace="##other" minOccurs="0" maxOccurs="unbounded" processContents="strict"/>
      <xsd:element name="sitemap" maxOccurs="unbounded"><xsd:complexType><xsd:sequence>
        <xsd:element name="loc" type="tLoc"/>
        <xsd:element name="lastmod" type="tLastmod" minOccurs="0"/>
        <xsd:any namespace="##other" minOccurs="0" maxOccurs="unbounded" processContents="strict"/>
      </xsd:sequence></xsd:complexType></xsd:element>
    </xsd:sequence></xsd:complexType></xsd:element>
    </xsd:schema>"""
    return sitemap.replace(b"</xsd:schema>", index.encode())


def _schema_file(namespace: str, content: str) -> bytes:
    return (
        f'<xsd:schema xmlns:xsd="{_XSD}" targetNamespace="{namespace}" xmlns="{namespace}" '
        f'elementFormDefault="qualified">{content}</xsd:schema>'
    ).encode()


def _image() -> bytes:
    others = "".join(
        f'<xsd:element name="{name}" type="xsd:string" minOccurs="0"/>'
        for name in ("caption", "geo_location", "title", "license")
    )
    return _schema_file(
        _IMAGE,
        '<xsd:element name="image"><xsd:complexType><xsd:sequence><xsd:element name="loc" type="xsd:anyURI"/>'
        f"{others}</xsd:sequence></xsd:complexType></xsd:element>",
    )


def _video() -> bytes:
    def tag(name: str, kind: str, most: str, attributes: str) -> str:
        low, high = most.split("..")
        declared = "".join(
            f'<xsd:attribute name="{attribute.rstrip("!")}" type="xsd:string"'
            + (' use="required"/>' if attribute.endswith("!") else "/>")
            for attribute in attributes.split()
        )
        return (
            f'<xsd:element name="{name}" minOccurs="{low}" maxOccurs="{high}"><xsd:complexType><xsd:simpleContent>'
            f'<xsd:extension base="{kind}">{declared}</xsd:extension></xsd:simpleContent></xsd:complexType>'
            "</xsd:element>"
        )

    tags = "".join(tag(*row) for row in _VIDEO_TAGS)
    return _schema_file(
        _VIDEO,
        f'{_VIDEO_TYPES}<xsd:element name="video"><xsd:complexType><xsd:sequence>{tags}</xsd:sequence>'
        "</xsd:complexType></xsd:element>",
    )


def _all() -> bytes:
    imports = "".join(
        f'<xsd:import namespace="{namespace}" schemaLocation="{name}.xsd"/>'
        for namespace, name in (
            (_SITEMAP, "sitemap"),
            (_IMAGE, "image"),
            (_VIDEO, "video"),
            (_XHTML, "xhtml"),
        )
    )
    return f'<xsd:schema xmlns:xsd="{_XSD}">{imports}</xsd:schema>'.encode()
