"""``siteatlas why``: explains one URL from the state. Start at ``why.py``.

``queries.py`` reads the state; ``explain.py`` and the modules it calls are pure.
"""
