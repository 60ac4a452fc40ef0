"""`askbucket bench`: a module a bench, what they share, and the engines they compare with (docs/performance.md)."""
