"""The plain way to serve the same search: everything in memory, float32 and parsed JSON, full sorts."""
