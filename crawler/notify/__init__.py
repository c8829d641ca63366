"""Notifies search engines, feed hubs, chats and people of what a run changed, each change once.

Front door: ``notify.py``. May import audit, publish, config, fetch, state and url.
"""
