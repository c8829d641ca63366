"""What the state remembers from run to run. Each file owns one question that is asked of it."""
