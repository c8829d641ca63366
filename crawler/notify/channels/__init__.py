"""One module for each channel: IndexNow, Search Console, WebSub, webhook, e-mail, command.

Each speaks its protocol and decides nothing else; all implement a protocol of ``crawler.notify.notice``.
"""
