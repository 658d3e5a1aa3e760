"""The inputs of one case as an executor receives them."""

from __future__ import annotations

from typing import Any


class InputDataset:
    """`args` and `kwargs` of a function, or of a method with its receiver in `tensor_args`."""

    def __init__(
        self,
        args: Any = (),
        kwargs: Any = None,
        method_args: Any = (),
        method_kwargs: Any = None,
        tensor_args: Any = (),
        require_grad: bool = False,
    ) -> None:
        self.args = list(args)
        self.kwargs = dict(kwargs or {})
        self.method_args = list(method_args)
        self.method_kwargs = dict(method_kwargs or {})
        self.tensor_args = list(tensor_args)
        self.require_grad = require_grad
        self.slice_contiguous = False


class OutputData:
    """Where an output lies; nothing is saved here."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)
