"""How far two correct computations of a formula drift apart, from representative elements."""
