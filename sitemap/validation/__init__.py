"""Owns what an entry must satisfy before it may be written: the protocol, Google's rules and what the XSDs enforce.

The functions named ``…_faults`` find every fault, for a linter; those named ``…_fault`` answer the sentence of the
first, or "", for a writer. All are pure.
"""
