"""Notifies search engines, feed hubs, chats and people of what a run changed, each change once.

Front door: ``notify.py``. May import publish, audit summaries, state and config.
"""
