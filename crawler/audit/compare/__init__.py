"""What changed since the previous audit: new, continued and resolved findings.

Front door: ``compare.py``; ``finding_status.py`` is pure and decides. May import audit.evidence, audit.health,
audit.orphans, config, fetch, publish and state.
"""
