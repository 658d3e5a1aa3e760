"""Derive, audit and rewrite the precision standards of operator test specs."""

__version__ = "0.1.0"
