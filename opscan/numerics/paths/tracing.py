"""Trace calls of one operator, as rows to learn from."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opscan.model import TensorClass
from opscan.numerics.binding import Binding
from opscan.numerics.operators import NotFollowed, Operator
from opscan.numerics.paths.learning import NotGeneral, Row
from opscan.numerics.paths.signature import Instance, Unshapely, read_call

MOST_NEEDING_DATA = 60
"""Calls on which an operator may turn out to look at values before its other calls are not tried any more."""


class Traces:
    """Traces the calls of one operator and counts them, until the processor time `until`."""

    def __init__(self, operator: Operator, describe: Any, until: float = math.inf) -> None:
        self.operator = operator
        self.until = until
        self.count = 0
        self.taken = 0
        self.needing_data = 0
        self._describe = describe

    def row(self, binding: Binding) -> Row | None:
        """The traced call; None where the operator refuses it, or needs data. Raises NotGeneral where it often does."""
        from opscan.numerics.running import NeedsData, OutOfMemory, Refused, trace

        self.count += 1
        if time.process_time() > self.until:
            raise NotGeneral("out of time")
        try:
            _, call = read_call(binding, self.operator.parameters)
            found = trace(self.operator, binding, None, real=False)
        except (Refused, OutOfMemory, Unshapely):
            return None
        except NeedsData as problem:
            self.needing_data += 1
            if self.needing_data > max(MOST_NEEDING_DATA, self.taken):
                raise NotGeneral(str(problem)) from None
            return None
        except NotFollowed as problem:
            raise NotGeneral(str(problem)) from None
        tensors = [self._describe(*entry) for entry in found]
        if any(tensor.reason for tensor in tensors):
            raise NotGeneral(next(tensor.reason for tensor in tensors if tensor.reason))
        self.taken += 1
        return Row(call, {_general_name(tensor, call): tensor for tensor in tensors})


def _general_name(tensor: TensorClass, call: Instance) -> str:
    head, _, label = tensor.name.partition("grad:") if tensor.role == "gradient" else tensor.name.partition("(")
    for place, given in enumerate(call.tensors):
        if tensor.role == "gradient" and given.label == label:
            return f"grad:@{place}"
        if tensor.role == "output" and label and given.label == label.rstrip(")"):
            return f"{head}(@{place})"
    return tensor.name


def same_classes(one: Sequence[TensorClass], other: Sequence[TensorClass]) -> bool:
    """Whether two answers say the same; the calls on the way only illustrate it."""
    return [replace(tensor, path=()) for tensor in one] == [replace(tensor, path=()) for tensor in other]
