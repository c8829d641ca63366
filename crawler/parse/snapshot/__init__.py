"""What changed on a page between two visits, and whether it matters. Pure: bytes in, a judgement out."""
