"""Device libraries."""
