"""How the bits of each compared tensor come about. `Classifier` answers for whole cases and remembers."""

from opscan.numerics.memo import Classifier

__all__ = ["Classifier"]
