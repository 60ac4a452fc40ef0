"""Counting searches: one day's numbers (tally, distinct), this process's (recorder), those of all instances (sums)."""
