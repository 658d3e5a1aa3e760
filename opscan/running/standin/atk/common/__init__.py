"""What all of ATK uses."""
