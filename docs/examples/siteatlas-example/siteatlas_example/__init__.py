"""A plug-in of each kind for Siteatlas."""
