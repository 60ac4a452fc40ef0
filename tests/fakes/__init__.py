"""Real servers that stand in for what we cannot have in a test."""
