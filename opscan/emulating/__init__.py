"""Stochastic emulation: the call itself, made again with other legitimate roundings and orders of addition.

It shares nothing with the drift that opscan predicts, so that it can refute it: torch's own decompositions say what a
composed kernel computes, and every step is rounded at random.
"""
