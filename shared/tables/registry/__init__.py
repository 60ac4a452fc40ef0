"""What the registry answers without a model: browsing, facets, the documents and what it says of itself."""
