"""What an entry must satisfy before it is written: the protocol, Google's rules, what the XSDs enforce. Pure.

Functions named ``…_faults`` find every fault, for the linter; those named ``…_fault`` answer the first one as a
sentence, or "", for the writer. Front door: ``entry.py``.
"""
