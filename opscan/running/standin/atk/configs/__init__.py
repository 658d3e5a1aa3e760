"""The configuration objects that plugins read and change."""
