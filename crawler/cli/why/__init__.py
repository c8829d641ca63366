"""The story of one URL in words: what is known of it becomes topics, each with sentences and with values. Pure."""
