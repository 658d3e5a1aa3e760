"""Run one operator forward and backward under the tracer, on fake tensors or on small real ones."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import contextlib
import logging
import math
import warnings
from functools import lru_cache
from typing import Any

import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from opscan.dataclass import replace
from opscan.numerics.binding import KNOWN_INDICES, Binding, TensorArgument, members
from opscan.numerics.bits import Bits, accumulate, at_least
from opscan.numerics.elements.term import Term, input_term
from opscan.numerics.facts import Facts
from opscan.numerics.operators import NotFollowed, Operator
from opscan.numerics.tracer import Tracer

_LARGEST_TOTAL = 1 << 22
"""Bound for the sum of an integer input that is drawn: counts become output elements."""
_COUNTING = frozenset({"repeat_interleave"})
"""Operators whose whole numbers are counts: extents and shapes are largest where all of these are."""

Traced = tuple[str, str, "TensorArgument | None", Any, Bits]
"""(name of the compared tensor, role, the argument it belongs to, the tensor, its bits)."""

_NEEDS_DATA = tuple(
    getattr(fake_tensor, name)
    for name in (
        "DynamicOutputShapeException", "DataDependentOutputException", "UnsupportedFakeTensorException",
        "UnsupportedOperatorException",
    )
    if hasattr(fake_tensor, name)
)  # fmt: skip

_OUT_OF_MEMORY = ("can't allocate memory", "std::bad_alloc")


_OTHER_DATA = (("zeros", None), ("positive", None), ("ones", None))
"""What is tried where an operator refuses mixed data: weights may have to be positive, counts at least 1."""

_CUTTING = frozenset({"tensor_split"})
"""Operators that cut where a tensor says, which they read behind all calls."""
_UNFAITHFUL = frozenset({"multilabel_margin_loss_forward"})
"""Packets whose fake kernels make another shape than the real ones."""


class NeedsData(Exception):
    """The operator looks at values, so fake tensors do not do."""


class Refused(Exception):
    """The operator raises on these inputs; the message is the first line of its own."""


@lru_cache(maxsize=1)
def _fake_mode() -> FakeTensorMode:
    logging.getLogger("torch._subclasses").setLevel(logging.CRITICAL)  # it logs every refusal with a traceback
    return FakeTensorMode(allow_non_fake_inputs=False)


class OutOfMemory(Exception):
    """The operator asks for more memory than the process may have, or than there is."""


def trace(
    operator: Operator, binding: Binding, mutated: int | None, *, real: bool, largest: bool = False
) -> list[Traced]:
    """Every compared tensor with its bits. `mutated`: the argument that is compared instead of the return value.

    `largest`: the whole numbers among the inputs are all as large as they may be, for these may be counts. Raises
    NeedsData where fake tensors (`real=False`) cannot answer, Refused where the operator raises, OutOfMemory.
    """
    try:
        return _watch(operator, binding, mutated, "largest" if largest else "mixed" if real else "none")
    except Refused:
        if not real or largest:
            raise
        for data, chosen in (*_OTHER_DATA, *(("zeros", size) for size in _mask_sizes(binding))):
            with contextlib.suppress(Refused, NeedsData):
                return _watch(operator, binding, mutated, data, chosen)
        raise


def attempt(operator: Operator, binding: Binding, mutated: int | None) -> None:
    """Make the call on real tensors, with no index beyond the first element. Raises as `trace`."""
    _watch(operator, binding, mutated, "zeros")


def _mask_sizes(binding: Binding) -> list[int]:
    """How many elements masks may have to choose, so that another input fits what they choose."""
    tensors = list(binding.tensors())
    if not any(tensor.dtype == "bool" for tensor in tensors):
        return []
    return sorted({tensor.shape[0] for tensor in tensors if tensor.dtype != "bool" and tensor.shape})


def _watch(
    operator: Operator, binding: Binding, mutated: int | None, data: str, chosen: int | None = None
) -> list[Traced]:
    real = data != "none"
    mode: Any = contextlib.nullcontext() if real else _fake_mode()
    with mode, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _run(operator, binding, mutated, data, chosen)
        except (NeedsData, Refused, NotFollowed):
            raise
        except _NEEDS_DATA as problem:
            raise NeedsData(f"{operator.name} looks at values: {_first_line(problem)}") from None
        except NotImplementedError as problem:
            raise (Refused if real else NeedsData)(_first_line(problem)) from None
        except MemoryError as problem:
            raise OutOfMemory(_first_line(problem)) from None
        except Exception as problem:
            if real and any(words in str(problem) for words in _OUT_OF_MEMORY):
                raise OutOfMemory(_first_line(problem)) from None
            if needs_data(problem):
                raise NeedsData(_first_line(problem)) from None
            raise Refused(_first_line(problem)) from None


def needs_data(problem: Exception) -> bool:
    """Whether torch says by `problem` that fake tensors do not do (or real ones of this size), not that it refuses."""
    special = isinstance(problem, (*_NEEDS_DATA, NotImplementedError)) or "DataDependent" in type(problem).__name__
    return special or "can't allocate memory" in str(problem)


def _first_line(problem: Exception) -> str:
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0][:300]


def _run(operator: Operator, binding: Binding, mutated: int | None, data: str, chosen: int | None) -> list[Traced]:
    """`data`: `none` for fake tensors; `mixed`: floats that round, whole numbers 0 and 1; `zeros`, `ones`: only one of
    these; `positive`: mixed, but no float is negative; `largest`: mixed, but no whole number is less than the others.

    Masks let everything pass, so that what they choose is as large as it can be, or `chosen` elements.
    """
    leaves: list[tuple[TensorArgument, Any]] = []
    real = data != "none"
    generator = torch.Generator().manual_seed(0) if real else None
    repeats = operator.name.rpartition(".")[2] in _COUNTING
    counts = (operator.counts or repeats) and data in ("mixed", "largest")
    at_most = repeats or data == "largest"

    def make(argument: TensorArgument) -> Any:
        whole = _whole_range(argument, data, counts=counts)
        tensor = _make(argument, generator, (whole[1], whole[1]) if at_most else whole, chosen)
        if data == "positive" and tensor.is_floating_point():
            tensor = tensor.detach().abs().requires_grad_(argument.requires_grad)
        leaves.append((argument, tensor))
        return tensor

    args, kwargs = binding.fill(make)
    tracer = Tracer()
    tracer.unfaithful = frozenset() if real else _UNFAITHFUL
    for argument, tensor in leaves:
        tracer.seed(tensor, Bits(term=input_term(argument)), Facts(distinct=KNOWN_INDICES.get(argument.values)))
    with tracer:
        if operator.in_place or mutated is not None:
            args, kwargs = _without_leaves(args, kwargs)
        result = operator.call(*args, **kwargs)
    pieces = not _CUTTING.isdisjoint(operator.name.split(".")) and any(_is_whole(tensor) for _, tensor in leaves[1:])
    unseen = _unseen(tracer, leaves) if real and type(operator) is Operator else ""
    if unseen and not pieces:
        raise NotFollowed(f"{operator.name} reads the values of `{unseen}` behind the calls that are watched")
    outputs = _outputs(operator, result, args, kwargs, mutated, binding)
    compared: list[Traced] = [(name, "output", None, tensor, tracer.bits_of(tensor)) for name, tensor in outputs]
    leaves = [(argument, tracer.current(tensor)) for argument, tensor in leaves]
    compared += _backward(tracer, [tensor for _, tensor in outputs], leaves, real)
    return [_cut(entry, len(outputs)) for entry in compared] if pieces else compared


def _unseen(tracer: Tracer, leaves: list[tuple[TensorArgument, Any]]) -> str:
    """An input of whole numbers that no call has taken: they decide something all the same."""
    whole = (argument.label for argument, tensor in leaves if _is_whole(tensor) and not tracer.has_read(tensor))
    return next(whole, "")


def _cut(entry: Traced, pieces: int) -> Traced:
    """What is known of a tensor that values cut to pieces, which may overlap: an element may lie in all of them."""
    name, role, argument, tensor, bits = entry
    met = pieces if role == "gradient" else 1
    return (
        name,
        role,
        argument,
        tensor,
        at_least(accumulate(replace(bits, term=None), met, "scatter"), bits.level, "values"),
    )


def _is_whole(tensor: Any) -> bool:
    rounds = tensor.is_floating_point() or tensor.is_complex()
    return not rounds and tensor.dtype != torch.bool and bool(tensor.numel())


def _without_leaves(args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """A leaf that requires grad cannot be written; its copy can."""

    def copy(value: Any) -> Any:
        return value.clone() if isinstance(value, torch.Tensor) and value.requires_grad else value

    return [copy(value) for value in args], {name: copy(value) for name, value in kwargs.items()}


def _outputs(
    operator: Operator, result: Any, args: list[Any], kwargs: dict[str, Any], mutated: int | None, binding: Binding
) -> list[tuple[str, Any]]:
    everything, described = [*args, *kwargs.values()], [*binding.args, *binding.kwargs.values()]
    if mutated is not None and mutated < len(everything) and isinstance(everything[mutated], torch.Tensor):
        label = described[mutated].label if isinstance(described[mutated], TensorArgument) else f"#{mutated}"
        return [(f"output:0({label})", everything[mutated])]
    if operator.in_place and described:
        changed = list(zip(members(described[:1], TensorArgument), members(everything[:1], torch.Tensor), strict=True))
        if "resize" not in operator.name and any(t.numel() > math.prod(given.shape) for given, t in changed):
            # fake tensors grow where real ones refuse
            raise Refused("what is written in place has more elements than the tensor")
        return [(f"output:{position}({given.label})", tensor) for position, (given, tensor) in enumerate(changed)]
    return [(f"output:{position}", tensor) for position, tensor in enumerate(members(result, torch.Tensor))]


def _backward(tracer: Tracer, outputs: list[Any], leaves: list[tuple[TensorArgument, Any]], real: bool) -> list[Traced]:
    wanted = [(argument, tensor) for argument, tensor in leaves if argument.requires_grad]
    roots = [tensor for tensor in outputs if tensor.requires_grad]
    if not wanted or not roots:
        return []
    tracer.phase = "backward"
    upstream = [torch.randn_like(root) if real else torch.empty_like(root) for root in roots]
    for place, (tensor, root) in enumerate(zip(upstream, roots, strict=True)):
        tracer.seed(
            tensor,
            Bits(term=Term("upstream", (), (place,), str(root.dtype).removeprefix("torch."))),
            Facts(spread=tracer.spread_of(root)),
        )
    with tracer:
        gradients = torch.autograd.grad(roots, [tensor for _, tensor in wanted], upstream, allow_unused=True)
    return [
        (f"grad:{argument.label}", "gradient", argument, gradient, tracer.bits_of(gradient))
        for (argument, _), gradient in zip(wanted, gradients, strict=True)
        if gradient is not None
    ]


def _make(argument: TensorArgument, generator: Any, whole: tuple[int, int], chosen: int | None) -> Any:
    """A tensor with values from `generator`, without values where there is none; whole numbers lie in `whole`.

    A mask is true in its first `chosen` places, everywhere where that is None.
    """
    dtype = getattr(torch, argument.dtype)
    if generator is None:
        return torch.empty(argument.shape, dtype=dtype, requires_grad=argument.requires_grad)
    if dtype.is_floating_point or dtype.is_complex:
        values = torch.randn(argument.shape, generator=generator, dtype=torch.float64).to(dtype)
        return values.requires_grad_(argument.requires_grad)
    if dtype == torch.bool:
        places = torch.arange(math.prod(argument.shape)).reshape(argument.shape)
        return torch.ones(argument.shape, dtype=dtype) if chosen is None else places < chosen
    return torch.randint(whole[0], whole[1] + 1, argument.shape, generator=generator).to(dtype)


def _whole_range(argument: TensorArgument, data: str, *, counts: bool) -> tuple[int, int]:
    """What the whole numbers of an input are drawn from.

    The declared range only where they are counts: some kernels do not check indices, and write where these point.
    """
    values = argument.values
    if data in ("zeros", "ones"):
        return (0, 0) if data == "zeros" else (1, 1)
    if counts and isinstance(values, tuple) and len(values) == 2 and all(_is_finite(end) for end in values):
        low, high = max(int(min(values)), 0), min(int(max(values)), 1 << 31)
        most = low + max(_LARGEST_TOTAL // max(math.prod(argument.shape), 1), 16)
        return low, max(low, min(high, most))
    return 0, 1


def _is_finite(end: Any) -> bool:
    return type(end) in (int, float) and math.isfinite(end)
