"""From crawled pages to a release of items."""
