"""How the bits of each compared tensor come about. `Classifier` answers for whole cases and remembers."""

from opscan.numerics.declared.answering import Plan, shapes_of
from opscan.numerics.memo import Classifier
from opscan.numerics.messages import Question
from opscan.numerics.store import Store
from opscan.workers.limits import Limits

__all__ = ["Classifier", "Limits", "Plan", "Question", "Store", "shapes_of"]
