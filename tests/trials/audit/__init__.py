"""Trials of the audit: whole sites that are drawn, with planted problems and innocent look-alikes, audited as users do.

``python -m tests.trials.audit --help`` describes the command. It prints two tables: of each class of problem, as an SEO
lead would word it, how many were planted and found; and of each rule, how many of its findings were false.

What is true follows from what was planted, never from what the audit says: every planted problem names the rules that
may report it, and whatever else the audit reports about a site is false.

``site`` holds pages and serves them, ``shapes`` draws healthy sites, ``plan`` tells what is planted, ``plants`` and
``lookalikes`` draw what is wrong and what only looks wrong, ``sources`` writes logs and exports, ``judge`` compares,
``trial`` runs one trial.
"""
