"""Owns what images and language variants must satisfy."""

import re
from collections.abc import Iterator
from typing import Final

from sitemap.model import Alternate, Image
from sitemap.validation.url import Fault, first_sentence, url_fault

_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")  # xsd:language; x-default is one


def image_fault(image: Image) -> str:
    """Why an image cannot be listed, or "". Its host may be another one."""
    return first_sentence(image_faults(image))


def image_faults(image: Image) -> Iterator[Fault]:
    """https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps."""
    if fault := url_fault("image:loc", image.loc):
        yield Fault("image.loc_missing", fault)


def alternate_fault(alternate: Alternate) -> str:
    """Why a language variant cannot be listed, or "". Its host may be another one."""
    return first_sentence(alternate_faults(alternate))


def alternate_faults(alternate: Alternate) -> Iterator[Fault]:
    """Only the form of hreflang is judged here; which codes search engines know is :mod:`sitemap.languages`'."""
    if not _LANGUAGE.fullmatch(alternate.hreflang):
        yield Fault(
            "hreflang.code", f"hreflang {alternate.hreflang[:64]!r} is no language tag and not x-default"
        )
    if fault := url_fault("href", alternate.href):
        yield Fault("hreflang.url", fault)
