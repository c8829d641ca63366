"""Trials of the check before publishing: nights on which a site breaks, and nights on which it only changes.

``python -m tests.trials.nights --help`` describes the command. With ``--plan one --trials 100`` it prints a table of a
hundred disasters, each at a place and a time of a site of 10, 65 or 1,000 pages, with what was published.

A trial is drawn from one seed: the site, what befalls it, when, where and for how long. The site is served, crawled and
published on a good night; then come the drawn nights, then good ones. What each request was answered is written down as
it is answered, and from that, never from what the product says, it follows what may leave the sitemap and which dates
may move.

``site`` makes pages, ``answers`` the answers of broken sites, ``disasters`` the space of what can go wrong,
``firewalls`` challenges, ``changes`` what editors do, ``server`` serves, ``trial`` lives through the nights, ``judge``
judges them.
"""
