"""A shop of django-oscar with its own templates. Runs where django-oscar is installed; prints the pages as JSON.

python shop_site.py COUNT
"""

import io
import json
import random
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.trials.lastmod.prose import WORDS, money, sentence, text

_APPS = (
    "analytics checkout address shipping catalogue catalogue.reviews communication partner basket payment offer order "
    "customer search voucher wishlists dashboard dashboard.reports dashboard.users dashboard.orders "
    "dashboard.catalogue dashboard.offers dashboard.partners dashboard.pages dashboard.ranges dashboard.reviews "
    "dashboard.vouchers dashboard.communications dashboard.shipping"
)
_HOST = "trial.example"


def configure() -> None:
    import django
    import oscar.defaults
    from django.conf import settings

    context = "django.template.context_processors"
    processors = [f"{context}.{name}" for name in ("debug", "request", "i18n", "media", "static")]
    processors += ["django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]
    processors += [f"oscar.{name}" for name in ("apps.search.context_processors.search_form",)]
    processors += [f"oscar.{name}" for name in ("apps.communication.notifications.context_processors.notifications",)]
    processors += ["oscar.apps.checkout.context_processors.checkout", "oscar.core.context_processors.metadata"]
    options = {"context_processors": processors}
    django_apps = [f"django.contrib.{name}" for name in ("admin", "auth", "contenttypes", "sessions", "messages")]
    django_apps += [f"django.contrib.{name}" for name in ("staticfiles", "sites", "flatpages")]
    oscar_settings = {name: value for name, value in vars(oscar.defaults).items() if name.isupper()}
    urls = ModuleType("shop_urls")
    sys.modules["shop_urls"] = urls
    middleware = ["sessions.middleware.SessionMiddleware", "auth.middleware.AuthenticationMiddleware"]
    middleware += ["messages.middleware.MessageMiddleware"]
    settings.configure(
        **oscar_settings
        | {
            "SECRET_KEY": "trial",
            "SITE_ID": 1,
            "ALLOWED_HOSTS": [_HOST],
            "ROOT_URLCONF": "shop_urls",
            "USE_TZ": True,
            "STATIC_URL": "/static/",
            "MEDIA_URL": "/media/",
            "MEDIA_ROOT": tempfile.mkdtemp(),  # its pictures are seen by nobody
            "OSCAR_SHOP_NAME": "Harbour Chandlery",
            "DATABASES": {
                "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:", "ATOMIC_REQUESTS": True}
            },
            "HAYSTACK_CONNECTIONS": {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
            "INSTALLED_APPS": [
                *django_apps,
                "oscar.config.Shop",
                *_oscar_apps(),
                "widget_tweaks",
                "haystack",
                "treebeard",
                "sorl.thumbnail",
                "django_tables2",
            ],
            "MIDDLEWARE": [
                *(f"django.contrib.{name}" for name in middleware),
                "oscar.apps.basket.middleware.BasketMiddleware",
            ],
            "TEMPLATES": [
                {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": options}
            ],
            "DEFAULT_AUTO_FIELD": "django.db.models.AutoField",
            "AUTHENTICATION_BACKENDS": ["oscar.apps.customer.auth_backends.EmailBackend"],
        }
    )
    django.setup()
    from django.apps import apps
    from django.urls import include, path

    urls.urlpatterns = [
        path("i18n/", include("django.conf.urls.i18n")),
        path("", include(apps.get_app_config("oscar").urls[0])),
    ]


def _oscar_apps() -> list[str]:
    return [f"oscar.apps.{name}.apps.{_config(name)}" for name in _APPS.split()]


def _config(name: str) -> str:
    above, _, own = name.rpartition(".")
    return {"dashboard": f"{own.capitalize()}Dashboard", "catalogue": "CatalogueReviews"}.get(
        above, own.capitalize()
    ) + "Config"


def fill(count: int, rng: random.Random) -> list[str]:
    """Make categories, products and reviews; the paths of their pages."""
    from django.core.files.base import ContentFile
    from oscar.apps.catalogue.categories import create_from_breadcrumbs
    from oscar.core.loading import get_model

    product_class = get_model("catalogue", "ProductClass").objects.create(name="Goods", track_stock=True)
    partner = get_model("partner", "Partner").objects.create(name="The store")
    names = [f"{WORDS[number].capitalize()} goods" for number in range(max(2, min(12, count // 12)))]
    categories = [create_from_breadcrumbs(name) for name in names]
    product_model, record_model = get_model("catalogue", "Product"), get_model("partner", "StockRecord")
    paths = ["/catalogue/", *(category.get_absolute_url() for category in categories)]
    made: list[Any] = []
    for number in range(count - len(paths)):
        links = [each.get_absolute_url() for each in made[-20:]]
        written = text(rng, number, links)
        product = product_model.objects.create(
            product_class=product_class,
            title=written.title,
            description=written.body,
            upc=f"{number:06}",
            structure="standalone",
        )
        product.categories.add(categories[number % len(categories)])
        stock = rng.choice((0, 3, 40, 90))
        record_model.objects.create(
            product=product, partner=partner, partner_sku=f"s{number}", price=Decimal(money(rng)), num_in_stock=stock
        )
        for each in range(rng.randrange(3)):
            product.reviews.create(
                score=rng.randrange(3, 6),
                title=sentence(rng)[:60],
                body=sentence(rng),
                name=f"Reader {each}",
                email="r@example.com",
                status=1,
            )
        product.images.create(
            original=ContentFile(_picture(rng), f"{WORDS[number % len(WORDS)]}-{number}.jpg"), caption=sentence(rng)
        )
        made.append(product)
    return [*paths, *(product.get_absolute_url() for product in made)]


def _picture(rng: random.Random) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (8, 8), tuple(rng.randbytes(3))).save(out, "JPEG")
    return out.getvalue()


def main(count: int) -> None:
    configure()
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", verbosity=0)
    rng = random.Random(f"shop {count}")
    pages = {}
    for path in ["/catalogue/", *fill(count, rng)]:
        for number in range(1, 99):
            place = path if number == 1 else f"{path}?page={number}"
            answer = Client().get(place, headers={"host": _HOST})  # a new visitor: nothing was viewed before
            if answer.status_code == 200:
                pages[place] = answer.content.decode()
            if f"?page={number + 1}" not in answer.content.decode():
                break
    pages["/"] = pages["/catalogue/"]
    print(json.dumps(pages, ensure_ascii=False))


if __name__ == "__main__":
    main(int(sys.argv[1]))
