"""Running of cases."""
