"""One module for each channel: IndexNow, Search Console, WebSub, webhook, e-mail, command.

Each speaks its protocol and decides nothing; ``channel.py`` is what they all implement.
"""
