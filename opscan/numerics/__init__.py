"""How the bits of each compared tensor come about. `Classifier` answers for whole cases and remembers."""

from opscan.numerics.memo import Classifier
from opscan.numerics.messages import Limits, Question
from opscan.numerics.store import Store

__all__ = ["Classifier", "Limits", "Question", "Store"]
