"""POST /mcp: what may be called (toolbox, sites), one message (jsonrpc), its route, and the library behind it (endpoint)."""
