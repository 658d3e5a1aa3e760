"""What opscan claims of a run, and where the oracles contradict it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from opscan.checking.runs import Subject, run
from opscan.checking.truths import Truth
from opscan.model import NumericClass
from opscan.numerics.bits import Bits, Level
from opscan.numerics.outcome import class_of
from opscan.numerics.tracer import Tracer


@dataclass(frozen=True)
class Claim:
    numeric_class: NumericClass
    correctly_rounded: bool
    depends: frozenset[str]
    extent: int
    path: tuple[str, ...]

    @property
    def row(self) -> str:
        if self.numeric_class == NumericClass.SELECT_ONLY:
            return "select+values" if "values" in self.depends else "select"
        if self.correctly_rounded:
            return "once"
        return {"broadcast-reduced": "accumulated"}.get(str(self.numeric_class), str(self.numeric_class))


def claims_of(what: Subject) -> dict[str, Claim]:
    """The class of every compared tensor, from a trace of the same call on the same data."""
    tracer = Tracer()
    leaves = [
        leaf.detach().requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf
        for leaf in what.leaves
    ]

    def turn(upstream: Sequence[torch.Tensor]) -> None:
        tracer.phase = "backward"
        for tensor in upstream:
            tracer.seed(tensor, Bits())

    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            tracer.seed(leaf, Bits())
    traced = run(what, leaves, mode=tracer, keep=tracer.bits_of, before_backward=turn)
    return {name: _claim(bits) for name, bits in traced.tensors.items()}


def _claim(bits: Bits) -> Claim:
    path = tuple(step.op for step in bits.path)
    return Claim(class_of(bits), bits.level == Level.ROUNDED_ONCE, bits.depends, bits.extent, path)


def contradiction(claim: Claim, truth: Truth) -> str:
    """Why the oracles refute `claim` as too strict; empty where they do not. Changes of order that only values decide
    are what `depends_on: values` says."""
    if claim.numeric_class in (NumericClass.RANDOM, NumericClass.UNKNOWN):
        return ""
    if truth.random and "values" not in claim.depends:
        return "two runs differ"
    if claim.numeric_class == NumericClass.SELECT_ONLY:
        if truth.exact is False:
            return "select-only, but rounded" if not truth.rounded_once else "select-only, but rounded once"
        summed = (truth.fan or 0) >= 3 and truth.exact is not True
        moved = truth.order or truth.split or truth.moved or summed
        return "select-only, but depends on the order" if moved and "values" not in claim.depends else ""
    if claim.numeric_class == NumericClass.ARITHMETIC:
        if truth.order:
            return "arithmetic, but depends on the order of one call"
        if truth.split or ((truth.fan or 0) >= 3 and truth.exact is False):
            return "arithmetic, but many elements meet"
        if claim.correctly_rounded and truth.rounded_once is False:
            return "correctly rounded, but not the float64 result rounded once"
    return ""
