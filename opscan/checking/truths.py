"""Three oracles for how the bits of a tensor come about. None of them knows the kinds table.

Order: the run is repeated with every order-dependent call redone in other orders (`reordering`), and every gradient
is put together from gradients of parts of the upstream gradient. Fan-in: how many elements of one tensor move one
element of the result when they are perturbed one at a time, in float64 where the operator knows it. Wide: the run is
repeated in float64; a result that is
exact there and here was never rounded, one that is equal after rounding back was rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opscan.checking import runs
from opscan.checking.reordering import GIVEN, ORDERS, Reordered, add_up, split
from opscan.checking.runs import WIDER, Run, Subject, differing, run, same

FAILURES = (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError, AssertionError)
"""What an operator raises where it does not take what an oracle gives it."""


@dataclass
class Truth:
    """What the oracles saw of one tensor; None where an oracle could not look."""

    floating: bool
    numel: int
    random: bool = False
    exact: bool | None = None
    """Equal to the float64 result before it is rounded, a copy of an operand, or a rounded attribute."""
    rounded_once: bool | None = None
    order: bool = False
    """The bits change when single ATen calls add in another order."""
    moved: bool = False
    """The bits of the native kernels differ from those of a reimplementation."""
    split: bool = False
    """The bits of the gradient change when it is put together from parts of the upstream gradient in another order."""
    blind: str = ""
    """Why the order oracle could not look; then `order` says nothing."""
    fan: int | None = None
    """Most elements of one leaf that move one element."""
    together: int = 0
    """The same of all leaves and upstream gradients together."""

    @property
    def column(self) -> str:
        if self.random:
            return "random"
        if self.order or self.split or ((self.fan or 0) >= 3 and self.exact is not True):
            return "order"
        if self.exact is None or self.blind:
            return "unseen"
        return "exact" if self.exact else "once" if self.rounded_once else "rounds"


def observe(
    what: Subject, *, fan_limit: int = 0, first: Run | None = None, others: Sequence[Subject] = ()
) -> dict[str, Truth]:
    """The truth about every compared tensor of `what`. `fan_limit`: most elements that are perturbed.

    `first`: the run itself, where it has been made. `others`: the same call on other data, by which roundings may show
    that these values hide.
    """
    first = first or run(what)
    again = run(what, upstream=first.upstream or None, seed=8)
    truths = {
        name: Truth(
            floating=tensor.dtype.is_floating_point or tensor.dtype.is_complex,
            numel=tensor.numel(),
            random=name not in again.tensors or not _alike(tensor, again.tensors[name]),
            order=name in again.tensors and not same(tensor, again.tensors[name]),
        )
        for name, tensor in first.tensors.items()
    }
    _look_wide(what, first, truths)
    for other in others:
        _look_again(other, truths)
    _look_at_order(what, first, truths)
    _look_at_parts(what, first, truths)
    if fan_limit:
        _look_at_fan(what, first, truths, fan_limit)
    return truths


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two runs differ by no more than roundings: a library adds in an order that follows where memory lies."""
    if same(one, other):
        return True
    if one.shape != other.shape or one.dtype not in WIDER or one.layout != torch.strided:
        return False
    within, wide = torch.finfo(one.dtype).eps ** 0.5, WIDER[one.dtype]
    return bool(torch.allclose(one.to(wide), other.to(wide), within, within, equal_nan=True))


def _look_wide(what: Subject, first: Run, truths: dict[str, Truth]) -> None:
    leaves, upstream = runs.widened(what, first.upstream)
    try:
        wide = run(what, leaves, upstream)
    except FAILURES:
        return
    known = _values(what, first)
    for name, tensor in first.tensors.items():
        reference = wide.tensors.get(name)
        if reference is None or reference.shape != tensor.shape:
            continue
        truth = truths[name]
        if not truth.floating:
            truth.exact = truth.rounded_once = same(tensor, reference)
            continue
        truth.rounded_once = any(same(tensor, reference.to(dtype).to(tensor.dtype)) for dtype in _formats(what, tensor))
        target = WIDER.get(tensor.dtype, tensor.dtype)
        different = (
            differing(tensor.to(target), reference.to(target))
            if reference.dtype == target and tensor.dtype in WIDER
            else torch.ones(runs.parts_of(tensor).numel(), dtype=torch.bool)
        )
        truth.exact = bool(torch.isin(runs.parts_of(tensor).reshape(-1).double().abs()[different], known).all())
        narrow = tensor.dtype == torch.float32 and same(tensor, tensor.bfloat16().float())
        if not truth.exact and (tensor.dtype not in WIDER or (reference.dtype != target and narrow)):
            truth.exact = truth.rounded_once = None  # the wide run was no wider, and small numbers are counted exactly


def _look_again(other: Subject, truths: dict[str, Truth]) -> None:
    try:
        run_there = run(other)
    except FAILURES:
        return
    seen = {name: Truth(truths[name].floating, 0) for name in run_there.tensors if name in truths}
    _look_wide(other, Run({name: run_there.tensors[name] for name in seen}, run_there.upstream), seen)
    for name, there in seen.items():
        if there.exact is False:
            truths[name].exact = False
        if there.rounded_once is False:
            truths[name].rounded_once = False


def _formats(what: Subject, tensor: torch.Tensor) -> set[torch.dtype]:
    """The dtypes to which a result may have been rounded: its own, and narrower ones that enter the call."""
    given = {leaf.dtype for leaf in what.leaves if isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point}
    narrow = {dtype for dtype in given if dtype.itemsize < tensor.dtype.itemsize and dtype.itemsize > 1}
    return {tensor.dtype} | (set() if tensor.dtype.is_complex else narrow)


def _values(what: Subject, first: Run) -> torch.Tensor:
    """Magnitudes that a copy can have: elements of operands and upstream gradients, attributes rounded to any dtype."""
    found = [torch.tensor([0.0, 1.0, torch.inf, torch.nan], dtype=torch.float64)]
    for value in (*what.leaves, *first.upstream):
        if isinstance(value, torch.Tensor):
            dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
            if not dense.is_quantized:
                found.append(runs.parts_of(dense.resolve_conj().resolve_neg()).reshape(-1).double().abs())
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
            scalar = torch.tensor(float(value), dtype=torch.float64)
            found += [scalar.to(dtype).double().abs().reshape(1) for dtype in (*list(WIDER)[:3], torch.float64)]
    return torch.cat(found)


def _look_at_order(what: Subject, first: Run, truths: dict[str, Truth]) -> None:
    try:
        given = run(what, upstream=first.upstream or None, mode=Reordered(GIVEN))
        others = [run(what, upstream=first.upstream or None, mode=Reordered(order)) for order in ORDERS]
    except FAILURES as problem:
        for truth in truths.values():
            truth.blind = f"{type(problem).__name__}: {str(problem)[:80]}"
        return
    for name, truth in truths.items():
        if name not in given.tensors:
            continue
        truth.order = truth.order or any(
            not same(given.tensors[name], other.tensors[name]) for other in others if name in other.tensors
        )
        truth.moved = not same(given.tensors[name], first.tensors[name])


def _look_at_parts(what: Subject, first: Run, truths: dict[str, Truth]) -> None:
    gradients = [name for name in first.tensors if name.startswith("grad:")]
    if not gradients or len(first.upstream) > 4:
        return
    totals = []
    for order in (GIVEN, *ORDERS):
        try:
            addends = []
            for place, upstream in enumerate(first.upstream):
                for part in split(upstream, order):
                    zeros = [torch.zeros_like(other) for other in first.upstream]
                    zeros[place] = part
                    addends.append(run(what, upstream=zeros).tensors)
        except FAILURES:
            return
        totals.append({name: add_up([addend[name] for addend in addends]) for name in gradients if name in addends[0]})
    for name in gradients:
        if all(name in total for total in totals):
            truths[name].split = any(not same(totals[0][name], total[name]) for total in totals[1:])


def _look_at_fan(what: Subject, first: Run, truths: dict[str, Truth], limit: int) -> None:
    wide, upstream = runs.widened(what, first.upstream)
    try:
        base = run(what, wide, upstream or None)
    except FAILURES:
        wide, upstream, base = list(what.leaves), list(first.upstream), first
    movable = [
        ("leaf", place, leaf)
        for place, leaf in enumerate(wide)
        if isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point and leaf.layout == torch.strided
    ] + [("upstream", place, tensor) for place, tensor in enumerate(upstream) if tensor.dtype.is_floating_point]
    if not movable or sum(tensor.numel() for *_, tensor in movable) > limit:
        return
    for truth in truths.values():
        truth.fan = truth.fan or 0
    total: dict[str, Any] = {}
    for where, place, tensor in movable:
        counts: dict[str, Any] = {}
        for element in range(tensor.numel()):
            leaves, above = list(wide), list(upstream)
            (leaves if where == "leaf" else above)[place] = _nudged(tensor, element)
            try:
                moved = run(what, leaves, above or None)
            except FAILURES:
                continue
            for name, before in base.tensors.items():
                if name in moved.tensors and moved.tensors[name].shape == before.shape:
                    hit = differing(before, moved.tensors[name]).long()
                    counts[name] = hit if name not in counts else counts[name] + hit
        for name, hits in counts.items():
            if hits.numel() and name in truths:
                truths[name].fan = max(truths[name].fan or 0, int(hits.max()))
                total[name] = total.get(name, 0) + hits
                truths[name].together = int(total[name].max())


def _nudged(tensor: torch.Tensor, element: int) -> torch.Tensor:
    """A little further in one element: far enough to be seen, too little to change ranks and signs."""
    changed = tensor.detach().clone(memory_format=torch.contiguous_format)
    step = 2.0**-14 if tensor.dtype == torch.float64 else 2.0**-5
    flat = changed.view(-1)
    flat[element] = flat[element] * (1 - step) + (step / 4 if flat[element] == 0 else 0)
    return changed.requires_grad_(tensor.requires_grad)
