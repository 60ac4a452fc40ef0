"""A release of items in Cosmos DB: its documents written, looked after and looked at."""
