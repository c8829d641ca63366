"""What changed since the previous audit: new, continued and resolved findings. Start at ``compare.py``.

``rules.py`` is pure and decides; ``store.py`` keeps earlier findings; ``history.py`` reads past audits.
"""
