"""POST /mcp: what may be called (toolbox, sites), what a message is (jsonrpc), the route, the library (endpoint)."""
