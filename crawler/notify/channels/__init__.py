"""One module for each channel.

Front doors: the modules, each of which speaks its protocol and decides nothing else. May import config, fetch
and url.
"""
