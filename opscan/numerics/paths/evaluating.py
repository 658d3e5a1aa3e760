"""Answer a call from the shipped paths, without torch."""

from __future__ import annotations

from opscan.model import TensorClass
from opscan.numerics.binding import Binding
from opscan.numerics.paths.shipping import Known, load
from opscan.numerics.paths.signature import Unshapely, read_call


def evaluate(known: Known, binding: Binding) -> tuple[TensorClass, ...] | None:
    """Every compared tensor of the call, or None where no path speaks of it."""
    if known.file is None:
        return None
    try:
        signature, call = read_call(
            binding, known.paths_as, known.renamed if known.paths_as != known.parameters else {}
        )
    except Unshapely:
        return None
    for path in load(known.file).get(signature.form, ()):
        if signature.dtypes in path.dtypes and (found := path.at(call)) is not None:
            return found
    return None
