"""Which pages nothing leads to, in what way, and whether that can be said at all. Pure."""
