"""The frontier: every URL of a crawl and its state.

Front door: ``sqlite.py``; ``traps.py`` decides about crawler traps. May import parse, state and url.

Guarantees, tested with a dictionary as oracle (``tests/crawler/crawl/frontier``):

1. A URL is leased to one holder at a time.
2. ``settle`` stores everything of one outcome or nothing, once; settling a lease that is not out changes nothing. A
   failure also undoes what was settled since the last commit: these URLs are pending again.
3. Admitting a known URL only adds evidence: its flags grow, its depth shrinks, and a URL that was refused for lack of
   evidence (nofollow only, too deep, a crawler trap) is judged again.
4. ``next`` returns ``Done`` only when no URL is pending and no lease is out.
5. ``records`` streams in byte order of URL, in flat memory.
6. Whatever is not settled when the process dies is pending at the next start; no lease survives it.
"""
