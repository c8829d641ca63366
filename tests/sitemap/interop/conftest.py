"""Owns what is skipped where a package of others cannot be had, unless nothing may be skipped."""

from pathlib import Path
from typing import Any

import node_sitemap
import pytest
import schemas


@pytest.fixture(scope="session")
def npm_sitemap() -> Path:
    """The npm package ``sitemap`` is there."""
    try:
        return node_sitemap.home()
    except schemas.Unavailable as error:
        if schemas.REQUIRED:
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def django() -> Any:
    """Django, set up for a site that is one sitemap."""
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure(
            ALLOWED_HOSTS=["example.com"],
            INSTALLED_APPS=["django.contrib.sitemaps"],
            LANGUAGE_CODE="en",
            LANGUAGES=[("en", "English"), ("pt-br", "Portuguese")],
            TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
            USE_I18N=True,
            USE_TZ=True,
        )
        django.setup()
    return django
