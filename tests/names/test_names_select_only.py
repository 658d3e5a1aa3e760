"""No output that is called select-only rounds: in double precision it has the very same values.

The oracle runs the operator and knows nothing of the kinds table. Inputs have full significands, since numbers of a
coarse grid hide roundings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from names_table import cases_of, entries

from opscan.model import NumericClass
from opscan.numerics.binding import TensorArgument
from opscan.numerics.classify import classify
from opscan.numerics.described import bind_described
from opscan.numerics.names import Entry

_NOT_RUN = {
    "CtcLossBackward",  # its alphas must be those of a forward run
    "EmbeddingBag",  # offsets must rise
    "MaxUnpool2d",  # indices must differ
    "MoeUpdateExpert",  # experts must be rows of the table
    "Nextafter",  # the next number is another one in double precision
    "RepeatInterleave",  # repeats must add up to the size of the output
    "RepeatInterleaveTensor",
    "RepeatInterleaveWithDim",
}


def _values(argument: TensorArgument, generator: torch.Generator) -> Any:
    dtype = getattr(torch, argument.dtype)
    if dtype.is_floating_point:
        return torch.randn(argument.shape, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(0, 2, argument.shape, generator=generator).to(dtype) + (argument.label == "other")


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _comparable(tensor: torch.Tensor) -> torch.Tensor:
    """The values in double precision, with NaN as a number, since it equals nothing."""
    real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return torch.nan_to_num(real.to(torch.float64), nan=7.25)


def _run(entry: Entry, case: Any, *, double: bool) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(7)

    def make(argument: TensorArgument) -> Any:
        made = _values(argument, generator)
        return made.double() if double and made.is_floating_point() else made

    args, kwargs = bind_described(case, entry).fill(make)
    return list(_tensors(entry.operator().call(*args, **kwargs)))


@pytest.mark.parametrize("entry", [entry for entry in entries() if entry.name not in _NOT_RUN], ids=lambda e: e.name)
def test_select_only_never_rounds(entry: Entry) -> None:
    for case in cases_of(entry):
        classes = [tensor.numeric_class for tensor in classify(case).tensors]
        if NumericClass.SELECT_ONLY not in classes:
            continue
        plain, double = _run(entry, case, double=False), _run(entry, case, double=True)
        for position, (numeric, ours, exact) in enumerate(zip(classes, plain, double, strict=True)):
            if numeric == NumericClass.SELECT_ONLY:
                same = torch.equal(_comparable(ours), _comparable(exact))
                assert same, f"{entry.place}: output {position} rounds"
