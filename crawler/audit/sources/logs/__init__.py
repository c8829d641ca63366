"""Access logs as a source: which URLs people and bots asked for, when, and what they were answered."""
