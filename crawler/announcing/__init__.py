"""Tells those who are configured what a run changed, that runs fail, and that they are well again: each once."""

from crawler.announcing.again import Again
from crawler.announcing.announce import announce, announce_findings, meet, try_out
from crawler.announcing.announced import Announced, Delivered
from crawler.announcing.channels import check

__all__ = ["Again", "Announced", "Delivered", "announce", "announce_findings", "check", "meet", "try_out"]
