"""Registries."""
