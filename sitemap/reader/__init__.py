"""Reading: from bytes to items and findings, whatever the format."""
