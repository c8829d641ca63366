"""The names of columns in the exports of products, in the languages of their interfaces. Pure.

English names as the products document them: https://support.google.com/webmasters/answer/7576553,
https://developers.google.com/webmaster-tools/v1/searchanalytics/query,
https://support.google.com/webmasters/answer/12917991 (BigQuery),
https://developers.google.com/analytics/devguides/reporting/data/v1/api-schema,
https://developer.matomo.org/api-reference/reporting-api, https://plausible.io/docs/export-stats,
https://www.screamingfrog.co.uk/seo-spider/user-guide/tabs/.
"""

# ruff: noqa: RUF001 - Turkish has letters that look like English ones

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

from crawler.audit.source_record import SourceKind


class ColumnRole(StrEnum):
    """The meaning of a column."""

    URL = "URL"
    HOST = "host"
    CLICKS = "clicks"
    IMPRESSIONS = "impressions"
    SESSIONS = "sessions"
    VIEWS = "views"
    USERS = "users"
    LINKS = "links"
    DOMAINS = "domains"
    FIRST = "first"
    LAST = "last"
    DAY = "day"
    STATUS = "status"
    INDEXABLE = "indexable"
    TYPE = "type"


_blanks = re.compile(r"[\s_-]+").sub


@lru_cache(maxsize=2048)
def normalize_name(name: str) -> str:
    """A name for comparison: in lower case, with one kind of apostrophes, without hyphens."""
    name = unicodedata.normalize("NFKC", name.replace("\u2019", "'").strip("\ufeff\u200e *")).casefold()
    return _blanks(" ", name).strip()


def _names(text: str) -> tuple[str, ...]:
    return tuple(normalize_name(name) for name in text.split("|"))


_PAGE_NAMES: Final = _names("""
url | page | pages | top pages | page url | landing page | address | loc | link | urls | uri | href | permalink
| full url | canonical url | website url | web page | webpage | location | request url | final url | path
| seite | seiten | häufigste seiten | die häufigsten seiten | adresse | seiten-url | zielseite
| pages les plus populaires | pages principales | page de destination | lien
| páginas principales | páginas | página | página de destino | dirección | enlace | endereço | ligação
| pagine principali | pagina | pagine | pagina di destinazione | indirizzo | pagina's | toppagina's | bestemmingspagina
| najpopularniejsze strony | strona | strony | самые популярные страницы | верхние страницы | страницы | страница
| адрес | en popüler sayfalar | sayfa | sayfalar | 上位のページ | ページ | 热门网页 | 网页 | 熱門網頁 | 網頁
| 인기 페이지 | 페이지
| populäraste sidorna | sida | suosituimmat sivut | nejlepší stránky | stránka | sider | query | keys 1
""")
_VISITED_NAMES: Final = _names("""
page location | metadata: url | metadata_url | full page url | fullpageurl | pagelocation | page url | url
| page path + query string | page path and query string | pagepathplusquerystring | page path and screen class
| unifiedpagepathscreen | page path | pagepath | landing page + query string | landingpageplusquerystring
| landing page | landingpage | entry_page | entry page | page | name | label | path
| seitenpfad und bildschirmklasse | seitenpfad + abfragestring | seitenpfad | seitenort | seitenposition
| landingpage + abfragestring | zielseite + abfragestring | zielseite | seiten-url | seite | bezeichnung
| chemin de la page et classe de l'écran | chemin de la page et classe d'écran | chemin de la page
| emplacement de la page | page de destination + chaîne de requête | page de destination | libellé
| ruta de página y clase de pantalla | ruta de la página y clase de pantalla | ruta de la página
| ubicación de la página | página de destino + cadena de consulta | página de destino
| percorso pagina e classe schermata | percorso pagina | posizione pagina | pagina di destinazione
| caminho da página e classe da tela | caminho da página | local da página | página de destino + string de consulta
| paginapad en schermklasse | paginapad | ページパスとスクリーン クラス | ページパス | 网页路径和屏幕类 | 网页路径
| путь к странице и класс экрана | путь к странице | ścieżka strony i klasa ekranu
""")
_TARGET_NAMES: Final = _names("""
target url | target page | target | targeturl | url_to | url to | link url | destination | destination url | to
| target page url | linked page | landing page | page cible | url cible | zielseite | ziel-url | ziel
| página de destino | url de destino | pagina di destinazione | url di destinazione | doelpagina | strona docelowa
| целевая страница | リンク先ページ | 目标网页 | 대상 페이지 | page | url | top linked pages | address
""")

_URL_NAMES: Final = {
    SourceKind.SEARCH: _PAGE_NAMES,
    SourceKind.ANALYTICS: _VISITED_NAMES,
    SourceKind.BACKLINKS: _TARGET_NAMES,
    SourceKind.LIST: _PAGE_NAMES,
    SourceKind.CRAWL: ("address", "url", "page url", "final url", "crawled url", "adresse", "dirección", "indirizzo"),
}
_OTHER_URL_NAMES: Final = frozenset(
    _names("""
referring page url | referring page | source url | source | source page | linking page | from | url_from | url from
| page from | backlink | source title | referring url | origin url | quelle | verweisende seite | page d'origine
| página de origen | pagina di origine | sitio | site | domain | redirect url | canonical link element 1 | link path
| sourceurl | referring domain
""")
)
"""Columns of URLs that are not the subject of the table."""
_RATING_NAMES: Final = frozenset(
    {
        *("rating", "rank", "ranking", "authority", "score", "ascore", "trust", "flow", "strength", "dr", "ur"),
        *("position", "place", "traffic", "value", "volume", "difficulty", "toxicity", "spam", "ctr", "rate"),
        *("percent", "id", "code", "status", "size", "depth", "level", "year", "age"),
    }
)
"""Words in the names of columns whose numbers are no counts."""
_words: Final = re.compile(r"[^\W_]+").findall

_ROLE_NAMES: Final[dict[ColumnRole, tuple[str, ...]]] = {
    ColumnRole.HOST: _names("hostname | host name | host | nom d'hôte | nombre de host | nome host"),
    ColumnRole.CLICKS: _names("""
clicks | url clicks | total clicks | klicks | clics | clic | cliques | clique | klikken | kliknięcia | клики
| tıklamalar | tıklama sayısı | tıklama | クリック数 | 合計クリック数 | 点击次数 | 點擊次數 | 點擊 | 클릭수
| klick | klikk | klikkaukset
| kliknutí
"""),
    ColumnRole.IMPRESSIONS: _names("""
impressions | impressionen | impresiones | impressioni | impressões | vertoningen | wyświetlenia | показы
| gösterimler | gösterim sayısı | gösterim | 表示回数 | 合計表示回数 | 展示 | 展示次数 | 曝光次數 | 曝光
| 노출 | 노출수 | exponeringar
| visninger | näyttökerrat | zobrazení
"""),
    ColumnRole.SESSIONS: _names("""
sessions | visits | nb_visits | sitzungen | besuche | visites | sesiones | visitas | sessioni | visite | sessões
| sessies | bezoeken | sesje | сеансы | oturumlar | セッション | 会话数 | 세션수
| visit_entrances | entrances | entry_nb_visits
"""),
    ColumnRole.VIEWS: _names("""
views | pageviews | page views | screenpageviews | nb_hits | aufrufe | seitenaufrufe | seitenansichten | vues
| pages vues | vistas | vistas de página | páginas vistas | visualizzazioni | visualizações | weergaven
| wyświetlenia | просмотры | görüntüleme sayısı | 表示回数 | 浏览次数 | 조회수 | unique pageviews
"""),
    ColumnRole.USERS: _names("""
total users | totalusers | active users | activeusers | users | visitors | unique visitors | nb_uniq_visitors
| aktive nutzer | nutzer | besucher | utilisateurs actifs | utilisateurs | visiteurs | usuarios activos | usuarios
| usuários ativos | usuários | utenti attivi | utenti | actieve gebruikers | активные пользователи
| アクティブ ユーザー
"""),
    ColumnRole.LINKS: _names("""
incoming links | inbound links | backlinks | links to page | links | inlinks | total links
| ext backlinks | liens entrants | links in | eingehende links | enlaces entrantes | link in entrata
| links recebidos | binnenkomende links | входящие ссылки | 被リンク | 导入链接 | backlinks_num | backlinks num
"""),
    ColumnRole.DOMAINS: _names("""
referring domains | ref. domains | ref domains | refdomains | linking domains | root domains linking | linking sites
| domains | verweisende domains | verweisende websites | domaines référents | sites d'origine | dominios de referencia
| sitios web con enlaces | domini di riferimento | siti con link
"""),
    ColumnRole.FIRST: _names(
        "first seen | first indexed date | first found | source first found date | firstindexeddate | date first seen"
    ),
    ColumnRole.LAST: _names(
        "last seen | last check | lastseendate | last crawled | last found | source crawl date | zuletzt gecrawlt"
        " | letztes crawling | dernière exploration | último rastreo | ultima scansione | laatst gecrawld"
    ),
    ColumnRole.DAY: _names(
        "data_date | date | day | datum | fecha | data | jour | tag | 日付 | 日期 | дата | fetched date"
    ),
    ColumnRole.STATUS: _names(
        "status code | status | http status code | http status | statuscode | response code | code de statut"
        " | código de estado | codice di stato | código de status | http code | code"
    ),
    ColumnRole.INDEXABLE: _names("indexability | indexable | is indexable | indexierbarkeit"),
    ColumnRole.TYPE: _names(
        "content type | content-type | content_type | resp_headers_content-type | mime type | type mime | mime typ"
    ),
}
_ROLES_OF_SOURCE: Final[dict[SourceKind, tuple[ColumnRole, ...]]] = {
    SourceKind.SEARCH: (ColumnRole.CLICKS, ColumnRole.IMPRESSIONS, ColumnRole.DAY, ColumnRole.LAST),
    SourceKind.ANALYTICS: (ColumnRole.SESSIONS, ColumnRole.VIEWS, ColumnRole.USERS, ColumnRole.HOST, ColumnRole.DAY),
    SourceKind.BACKLINKS: (ColumnRole.LINKS, ColumnRole.DOMAINS, ColumnRole.FIRST, ColumnRole.LAST),
    SourceKind.LIST: (),
    SourceKind.CRAWL: (ColumnRole.STATUS, ColumnRole.INDEXABLE, ColumnRole.TYPE),
}
_FORMATS: Final[tuple[tuple[str, set[str]], ...]] = (
    ("Search Console bulk export", {"data_date", "url", "impressions"}),
    ("Search Console API", {"keys 1", "clicks", "impressions"}),
    ("Search Console links", {"target page", "incoming links"}),
    ("Bing pages", {"page", "impressions", "clicks", "avg. position"}),
    ("Search Console pages", {"ctr", "position"}),
    ("Search Console page indexing", {"url", "last crawled"}),
    ("Search Console page indexing", {"url", "zuletzt gecrawlt"}),
    ("Ahrefs backlinks", {"referring page url", "target url"}),
    ("Semrush backlinks", {"source url", "target url", "page ascore"}),
    ("Majestic backlinks", {"source url", "target url", "source trust flow"}),
    ("Screaming Frog", {"address", "status code", "indexability"}),
    ("Screaming Frog links", {"type", "source", "destination"}),
    ("Scrapy", {"url", "status", "depth"}),
    ("Matomo pages", {"label", "nb_visits"}),
    ("Plausible pages", {"visitors", "bounce_rate"}),
    ("Google Analytics API", {"pagepath"}),
    ("Google Analytics", {"views"}),
    ("Google Analytics", {"active users"}),
    ("Google Analytics", {"aufrufe"}),
)


_SOURCE_OF_PRODUCT: Final = {
    "Search Console links": SourceKind.BACKLINKS,
    "Search Console": SourceKind.SEARCH,
    "Bing": SourceKind.SEARCH,
    "Google Analytics": SourceKind.ANALYTICS,
    "Matomo": SourceKind.ANALYTICS,
    "Plausible": SourceKind.ANALYTICS,
    "Ahrefs": SourceKind.BACKLINKS,
    "Semrush": SourceKind.BACKLINKS,
    "Majestic": SourceKind.BACKLINKS,
    "Screaming Frog": SourceKind.CRAWL,
}


def source_of(product: str) -> SourceKind | None:
    """The kind of source of a product that :func:`format_of` returned."""
    return next((source for name, source in _SOURCE_OF_PRODUCT.items() if product.startswith(name)), None)


def is_other_url_column(name: str) -> bool:
    """Whether a column of this name has URLs that are not the subject of the table."""
    return normalize_name(name) in _OTHER_URL_NAMES


def is_rating_column(name: str) -> bool:
    """Whether a column of this name has numbers that are no counts: a rating, a rank, an address."""
    return not _RATING_NAMES.isdisjoint(_words(normalize_name(name)))


def url_rank(name: str, source: SourceKind) -> int:
    """How clearly a name says that a column has the URLs; 0: not at all."""
    names = _URL_NAMES.get(source, _PAGE_NAMES)
    name = normalize_name(name)
    return len(names) - names.index(name) if name in names else 0


def find_roles(header: Sequence[str], source: SourceKind) -> dict[ColumnRole, int]:
    """The columns by their roles. In a comparison of periods, the first column is the current period."""
    plains = [normalize_name(name) for name in header]
    roles: dict[ColumnRole, int] = {}
    for role in _ROLES_OF_SOURCE.get(source, ()):
        at = next((plains.index(name) for name in _ROLE_NAMES[role] if name in plains), None)
        if at is None and role in (ColumnRole.CLICKS, ColumnRole.IMPRESSIONS):
            at = next((i for i, name in enumerate(plains) if name.endswith(_ROLE_NAMES[role])), None)
        if at is not None:
            roles[role] = at
    if any(name in _OTHER_URL_NAMES for name in plains):
        for role in (ColumnRole.LINKS, ColumnRole.DOMAINS):
            roles.pop(role, None)  # each row is one link, and its number is about the linking page
    return roles


def format_of(header: Sequence[str]) -> str:
    """The product that writes such columns, or ""."""
    names = set(map(normalize_name, header))
    return next((label for label, needed in _FORMATS if set(map(normalize_name, needed)) <= names), "")
