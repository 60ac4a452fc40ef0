"""/openapi.json: the table of every route (operations), and the document made from it."""
