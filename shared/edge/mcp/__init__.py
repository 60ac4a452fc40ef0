"""POST /mcp: what may be called (toolbox, sites, site_toolbox), a message, its route, the library (endpoint)."""
