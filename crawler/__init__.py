"""An asynchronous frontier crawler that turns one website into true, valid, stable sitemaps.

A name is loaded when it is first asked for: the command shows its help without loading a crawler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # ``as`` makes a name public for type checkers
    from crawler.api import audit_site as audit_site
    from crawler.api import crawl_site as crawl_site
    from crawler.api import crawl_tables as crawl_tables
    from crawler.audit.finding import AuditFinding as AuditFinding
    from crawler.audit.finding import AuditReport as AuditReport
    from crawler.config.config import Config as Config
    from crawler.config.load import configured as configured
    from crawler.crawl.engine import Tally as Tally
    from crawler.errors import NothingCrawlable as NothingCrawlable
    from crawler.errors import SiteatlasError as SiteatlasError
    from crawler.errors import StateInUse as StateInUse
    from crawler.errors import StorageError as StorageError
    from crawler.errors import UsageError as UsageError
    from crawler.run.report import Report as Report
    from crawler.serve import AsgiFiles as AsgiFiles
    from crawler.serve import ObservedDates as ObservedDates
    from crawler.serve import WsgiFiles as WsgiFiles
    from crawler.state.store import Resume as Resume
    from crawler.version import __version__ as __version__

_ROOMS: Final = {
    "api": "audit_site crawl_site crawl_tables",
    "audit.finding": "AuditFinding AuditReport",
    "config.config": "Config",
    "config.load": "configured",
    "crawl.engine": "Tally",
    "errors": "NothingCrawlable SiteatlasError StateInUse StorageError UsageError",
    "run.report": "Report",
    "serve": "AsgiFiles ObservedDates WsgiFiles",
    "state.store": "Resume",
    "version": "__version__",
}
_HOME: Final = {name: room for room, names in _ROOMS.items() for name in names.split()}
__all__ = list(_HOME)

if not TYPE_CHECKING:  # a type checker that saw this would believe every name

    def __getattr__(name: str) -> Any:
        room = _HOME.get(name)
        if room is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{room}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted(__all__)
