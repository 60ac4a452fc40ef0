"""The one library of all functions and jobs. docs/architecture.md is its map."""
