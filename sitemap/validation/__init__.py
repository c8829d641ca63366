"""Validates entries before they are written: the protocol, Google's rules, the XSDs. Pure.

Functions named ``…_faults`` yield every fault, for the linter. Those named ``…_fault`` return the first one as a
sentence, or "", for the writer. Entry point: ``entry.py``.
"""
