"""A site whose pipeline is written in its question, served by the real edge as a real function."""
