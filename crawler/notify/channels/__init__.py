"""One module for each channel: IndexNow, Search Console, WebSub, webhook, e-mail, command.

Front doors: the modules, each of which speaks its protocol and decides nothing else. May import audit, publish, config,
fetch and url.
"""
