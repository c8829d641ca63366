"""Notifies search engines, feed hubs, chats and people of what a run changed, each of them once.

Front door: ``notify.py``. May import publish, audit summaries, state and config.
"""
