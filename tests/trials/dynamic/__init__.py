"""Trials of the audit on sites whose HTML does not show all links: scripts build some, and boxes show some by chance.

``python -m tests.trials.dynamic --help`` describes the command. A trial draws a site, serves it on the loopback address
and audits it three times in a row. What is true of a page follows from how the site was drawn: HTML links to it, only
a script does, only a box does now and then, or nothing does. The sources name real orphan pages of any name, URLs whose
GET acts, and personal data.

``scripts`` has the ways in which scripts build links, and scripts that build none; ``site`` draws a site and serves it;
``sources`` writes its access log and its exports; ``trial`` audits it and judges.
"""
