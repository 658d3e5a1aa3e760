"""The answer of `opscan explain --broadcast`: how each class changes over the shapes that can meet."""

from __future__ import annotations

from collections.abc import Sequence

from opscan.model import Case, Classification, NumericClass, TensorClass
from opscan.reporting.explanation import explanation_object
from opscan.reporting.json_format import dumps
from opscan.reporting.look import Look
from opscan.reporting.palette import strong
from opscan.reporting.tables import Cell, table
from opscan.reporting.text import one_word

Answers = Sequence[tuple[Case, Classification]]


def write(answers: Answers, operator: str, format: str, look: Look) -> str:
    """One row per pattern: the shapes, then the class of every compared tensor, and its extent if it accumulates."""
    if format == "json":
        patterns = [{"shapes": _shapes(case), **explanation_object(known, operator)} for case, known in answers]
        return dumps({"operator": operator, "patterns": patterns})
    names = list(dict.fromkeys(tensor.name for _, known in answers for tensor in known.tensors))
    inputs = list(_shapes(answers[0][0])) if answers else []
    rows = []
    for case, known in answers:
        shapes = _shapes(case)
        by_name = {tensor.name: tensor for tensor in known.tensors}
        refused = Cell("refused" if known.mismatch else "unknown", "unknown")
        rows.append([
            *(Cell(str(list(shapes[name])).replace(" ", "")) for name in inputs),
            *(_class(by_name[name]) if name in by_name else refused for name in names),
        ])  # fmt: skip
    lines = [strong(one_word(operator), look.color), ""]
    return "\n".join([*lines, *table([*inputs, *names], rows, width=look.width, color=look.color)]) + "\n"


def _shapes(case: Case) -> dict[str, tuple[int, ...]]:
    return {
        given.name or f"#{place}": given.shape for place, given in enumerate(case.inputs) if given.shape is not None
    }


def _class(tensor: TensorClass) -> Cell:
    kind = str(tensor.numeric_class)
    sums = tensor.numeric_class in (NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED)
    return Cell(f"{kind} over {tensor.extent}" if sums else kind, kind)
