"""Reads what an HTML document says. Pure: bytes and headers in, a page out; no clock, no network, no disk."""
