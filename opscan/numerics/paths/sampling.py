"""Draw calls near a known one: other sizes, ranks, broadcasts, axes and numbers. Some of them no operator will take."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

from opscan.numerics.binding import Binding, TensorArgument

_SIZES = (1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 31)
_LARGE_SIZES = (64, 129, 300, 2100)
_FLOATS = (
    0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5, 0.1, 0.25, 1.5, 4.0, 10.0, -3.7, 0.9, 1e-5, math.inf, -math.inf,
    -1e6, 1e6, 1e-12, 2.0**-20,
)  # fmt: skip
_WHOLES = (0, 1, 2, 3, 4, 5, -1, -2, -3, 7, 8)
_LARGE_WHOLES = (27, -100, 100, 1000)
_MOST_ELEMENTS = 1 << 18
_MOST_AXES = 8


def vary(binding: Binding, random: Random) -> Binding:
    """A call like `binding` with other sizes and numbers."""
    changed = _resized(binding, random)
    if random.random() < 0.3:
        return changed if _is_small(changed) else binding  # equal sizes stay equal, as many operators ask for
    narrow = tuple((_with_one, chance) for chance in (0.5, 0.6, 0.4))  # two inputs at once may be broadcast
    changes = ((_with_more_axes, 0.25), (_with_fewer_axes, 0.1), (_with_numbers, 0.6), *narrow)
    for change, chance in changes:
        if random.random() < chance:
            changed = change(changed, random)
    return changed if _is_small(changed) else binding


def _is_small(binding: Binding) -> bool:
    return all(math.prod(tensor.shape) <= _MOST_ELEMENTS for tensor in binding.tensors())


def in_dtypes(binding: Binding, dtypes: dict[str, str]) -> Binding:
    """The same call with other dtypes of its tensors; gradients of those that can have one."""

    def cast(tensor: TensorArgument) -> TensorArgument:
        dtype = dtypes.get(tensor.dtype, tensor.dtype)
        return replace(tensor, dtype=dtype, requires_grad=tensor.requires_grad and can_have_gradient(dtype))

    return _mapped(binding, cast)


def can_have_gradient(dtype: str) -> bool:
    return "float" in dtype or dtype.startswith("complex")


def as_derived(binding: Binding) -> Binding:
    """The same call in float32 where it is in another real float, every gradient wanted that there can be."""
    floats = {tensor.dtype: "float32" for tensor in binding.tensors() if "float" in tensor.dtype}

    def change(tensor: TensorArgument) -> TensorArgument:
        dtype = floats.get(tensor.dtype, tensor.dtype)
        return replace(tensor, dtype=dtype, requires_grad=can_have_gradient(dtype))

    return _mapped(binding, change)


def with_all_gradients(binding: Binding) -> Binding:
    return _mapped(binding, lambda tensor: replace(tensor, requires_grad=can_have_gradient(tensor.dtype)))


def without_gradients(binding: Binding) -> Binding:
    return _mapped(binding, lambda tensor: replace(tensor, requires_grad=False))


def with_some_gradients(binding: Binding, random: Random) -> Binding:
    """A part of the gradients only, at least one."""
    wanted = [tensor for tensor in binding.tensors() if tensor.requires_grad]
    kept = random.sample(wanted, random.randint(1, len(wanted))) if wanted else []
    labels = {tensor.label for tensor in kept}
    return _mapped(binding, lambda tensor: replace(tensor, requires_grad=tensor.label in labels))


def _mapped(binding: Binding, change: Any) -> Binding:
    def walk(value: Any) -> Any:
        if isinstance(value, TensorArgument):
            return change(value)
        if isinstance(value, (list, tuple)):
            return type(value)(walk(item) for item in value)
        return value

    return Binding(tuple(walk(value) for value in binding.args), {k: walk(v) for k, v in binding.kwargs.items()})


def _resized(binding: Binding, random: Random) -> Binding:
    """Equal sizes stay equal, in lists of whole numbers too."""
    sizes = sorted({size for tensor in binding.tensors() for size in tensor.shape if size > 1})
    new = {size: random.choice(_SIZES) for size in sizes}
    mode = random.random()
    if mode < 0.04:
        new = dict.fromkeys(sizes, 1)
    elif mode < 0.2:
        new = {size: random.choice((1, 2)) for size in sizes}
    elif mode < 0.6:
        new = {size: value if value > 1 else random.choice((3, 5, 10)) for size, value in new.items()}
    elif mode > 0.96 and sizes:
        new |= {random.choice(sizes): random.choice(_LARGE_SIZES)}
    elif mode > 0.9:
        new = {}
    resized = _mapped(binding, lambda t: replace(t, shape=tuple(new.get(size, size) for size in t.shape)))
    return _with_lists(resized, new) if random.random() < 0.9 else resized


def _with_lists(binding: Binding, new: dict[int, int]) -> Binding:
    def change(value: Any) -> Any:
        whole = isinstance(value, (list, tuple)) and len(value) > 0 and all(type(item) is int for item in value)
        return type(value)(new.get(item, item) for item in value) if whole else value

    return Binding(tuple(map(change, binding.args)), {k: change(v) for k, v in binding.kwargs.items()})


def _with_one(binding: Binding, random: Random) -> Binding:
    """One size, or one place in all tensors, becomes 1 (seldom something else)."""
    tensors = list(binding.tensors())
    chosen = random.choice(tensors) if tensors else None
    if chosen is None or not chosen.shape:
        return binding
    axis = random.randrange(len(chosen.shape))
    size = 1 if random.random() < 0.6 else random.choice(_SIZES)
    everywhere = random.random() < 0.2

    def change(tensor: TensorArgument) -> TensorArgument:
        if tensor is not chosen and not everywhere:
            return tensor
        return replace(tensor, shape=tuple(size if i == axis else n for i, n in enumerate(tensor.shape)))

    return _mapped(binding, change)


def _with_more_axes(binding: Binding, random: Random) -> Binding:
    most = max((len(tensor.shape) for tensor in binding.tensors()), default=0)
    several = random.random() < 0.4 and most < _MOST_AXES
    count = random.randint(1, _MOST_AXES - most) if several else 1
    sizes = tuple(random.choice(_SIZES[:6] if several else _SIZES) for _ in range(count))
    everywhere = random.random() < 0.6

    def change(tensor: TensorArgument) -> TensorArgument:
        if len(tensor.shape) + count <= _MOST_AXES and (everywhere or random.random() < 0.5):
            return replace(tensor, shape=(*sizes, *tensor.shape))
        return tensor

    return _mapped(binding, change)


def _with_fewer_axes(binding: Binding, random: Random) -> Binding:
    everywhere = random.random() < 0.5

    def change(tensor: TensorArgument) -> TensorArgument:
        return replace(tensor, shape=tensor.shape[1:]) if everywhere or random.random() < 0.5 else tensor

    return _mapped(binding, change)


def _with_numbers(binding: Binding, random: Random) -> Binding:
    """Some of the attributes that are numbers, drawn anew."""

    def change(value: Any) -> Any:
        if type(value) is int and random.random() < 0.6:
            return random.choice(_WHOLES if random.random() < 0.85 else _LARGE_WHOLES)
        if type(value) is float and random.random() < 0.6:
            return random.choice(_FLOATS)
        if isinstance(value, (list, tuple)) and value and all(type(item) in (int, float) for item in value):
            kinds = [_FLOATS if type(item) is float else _WHOLES for item in value]
            return type(value)(
                random.choice(k) if random.random() < 0.3 else v for k, v in zip(kinds, value, strict=True)
            )
        return value

    return Binding(tuple(map(change, binding.args)), {k: change(v) for k, v in binding.kwargs.items()})
