"""What changed since the previous audit: new, continued and resolved findings. Front door: ``compare.py``.

``rules.py`` is pure and decides; ``store.py`` keeps earlier findings; ``history.py`` tells of past audits.
"""
