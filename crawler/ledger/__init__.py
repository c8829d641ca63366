"""What others were told of a site, in ``notify.db`` of its state: how far, what is under way, what was refused."""

from crawler.ledger.ledger import Ledger
from crawler.ledger.lines import Line, Mood, Reading, Refused, Sent, of_audits
from crawler.ledger.tables import LEDGER
from crawler.ledger.told import ChannelTold, Told, told

__all__ = [
    "LEDGER",
    "ChannelTold",
    "Ledger",
    "Line",
    "Mood",
    "Reading",
    "Refused",
    "Sent",
    "Told",
    "of_audits",
    "told",
]
