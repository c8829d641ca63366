"""Random trials of lastmod by kind: made sites, played for 10 to 30 nights, each with one kind of edit or noise.

``README.md`` beside this file describes the kinds and the command. Written without a look at the rules that it tries.
"""
