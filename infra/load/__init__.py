"""Load on the real functions: realistic mixes, a soak with faults, and the plain way beside ours (docs/load.md)."""
