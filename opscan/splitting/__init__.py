"""Specs whose compared tensors need two standards: a broadcast-free twin, or a generator that chooses per case.

What is planned here is verified before it is offered: the new texts are read again, and their cases classified.
"""

from opscan.splitting.planning import with_splits

__all__ = ["with_splits"]
