"""Input data."""
