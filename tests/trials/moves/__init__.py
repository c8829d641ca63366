"""Moves of made sites whose truth is known: ``site.py`` draws them, ``__main__.py`` measures the matcher on them."""
