"""Answer a call from the shipped paths, without torch."""

from __future__ import annotations

from opscan.model import TensorClass
from opscan.numerics.binding import Binding
from opscan.numerics.paths.path import Path
from opscan.numerics.paths.shipping import Known, load
from opscan.numerics.paths.signature import Instance, Unshapely, read_call


def evaluate(known: Known, binding: Binding) -> tuple[TensorClass, ...] | None:
    """Every compared tensor of the call, or None where no path speaks of it."""
    call = signed(known, binding)
    if call is None:
        return None
    paths, instance = call
    for path in paths:
        if (found := path.at(instance)) is not None:
            return found
    return None


def signed(known: Known, binding: Binding) -> tuple[tuple[Path, ...], Instance] | None:
    """The paths for the form and dtypes of a call, in order, and the call in numbers; None where no path can be."""
    if known.file is None:
        return None
    try:
        signature, call = read_call(
            binding, known.paths_as, known.renamed if known.paths_as != known.parameters else {}
        )
    except Unshapely:
        return None
    paths = load(known.file).get(signature.form, ())
    return tuple([path for path in paths if signature.dtypes in path.dtypes]), call
