"""Where two answers differ, and where an answer promises more than the oracles saw."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from opscan.checking.truths import Truth
from opscan.model import Classification, NumericClass, TensorClass

_SUMMED = (NumericClass.ACCUMULATED, NumericClass.BROADCAST_REDUCED)
_NESTING = re.compile(
    r"cholesky|lu_|[._]lu\b|qr|svd|eig|inv|det|lstsq|solve|matrix_exp|ldl|householder|ormqr|geqrf|pinv|matrix_power"
)
"""Calls of linear algebra in which many sums follow one another, each as long as one side of the matrix."""
_ADDS = re.compile(r"\.(sum|mean|prod|bmm|mm|mv|dot|_?(log_)?softmax|_softmax|logsumexp|nll_loss\w*_forward)\.")
"""Calls of which each adds up or multiplies along an axis."""
_COMPARED = ("numeric_class", "extent", "correctly_rounded", "cause", "depends_on", "dtype", "shape")

_CHOOSING = frozenset({"nonzero", "masked_select", "_unique", "_unique2", "unique_dim"})
_FORM = ("dtype", "shape")
"""What there is to compare of a tensor without elements."""


@dataclass(frozen=True)
class Remark:
    """`kind`: unsound, differing, refused-but-answered, loose, unequal-tensors."""

    kind: str
    tensor: str
    text: str


@lru_cache(maxsize=1)
def explained() -> Mapping[str, Mapping[str, str]]:
    """What an oracle says -> operator -> why the class is right all the same."""
    text = Path(__file__).with_name("explained.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)  # type: ignore[no-any-return]


def is_explained(finding: str, name: str) -> bool:
    """Whether somebody has looked at this finding about an operator, however a spec spells it."""
    stem = name.removesuffix(".default").rpartition(".")[2].rstrip("_").removeprefix("linalg_").removeprefix("aclnn")
    known = explained().get(finding.partition(":")[0], {})
    return any(stem.lower() == key.rpartition(".")[2].lower() for key in known)


def plain_name(name: str) -> str:
    """The name of a compared tensor without the argument that it stands for: `output:0(self)`."""
    return name.partition("(")[0]


def contradiction(claim: TensorClass, truth: Truth, name: str = "") -> str:
    """Why the oracles refute `claim` about the operator `name` as too strict; empty where they do not.

    Changes of order that only values decide are what `depends_on: values` says. Perturbed elements are a lower bound
    for the addends of a single sum only: where sums nest, for the product of their extents.
    """
    values = "values" in claim.depends_on
    fan = truth.fan or 0
    if claim.numeric_class in (NumericClass.RANDOM, NumericClass.UNKNOWN):
        return ""
    if truth.random:
        return "" if values else "two runs differ"
    if claim.numeric_class == NumericClass.SELECT_ONLY:
        if truth.exact is False:
            return "select-only, but rounded" if not truth.rounded_once else "select-only, but rounded once"
        summed = fan >= 3 and truth.exact is not True
        moved = truth.order or truth.split or truth.moved or summed
        return "select-only, but depends on the order" if moved and not values else ""
    if claim.numeric_class == NumericClass.ARITHMETIC:
        if truth.order:
            return "arithmetic, but depends on the order of one call"
        if truth.split or (fan >= 3 and truth.exact is False):
            return f"arithmetic, but many elements meet: {fan}"
        if claim.correctly_rounded and truth.rounded_once is False:
            return "correctly rounded, but not the float64 result rounded once"
        return ""
    if fan > most_addends(claim, name) and truth.exact is not True and not values:
        return f"extent too small: {claim.extent}, but so many elements meet: {fan}"
    return ""


def most_addends(claim: TensorClass, name: str = "") -> int:
    """How many elements can move one element where all the sums on the way to it nest, and all roundings have two
    operands. A sum inside of one call of linear algebra is one of many: each element takes part in several.
    """
    if stages := getattr(claim, "stages", ()):
        # a sum of two values has no order, so it is no stage; but two elements of each move the result
        pairs = len({step.op for step in claim.path if _ADDS.search(step.op)}) - len(stages)
        nested = math.prod(int(stage.extent) for stage in stages) * 2 ** max(pairs, 0)
    else:
        sums = {step.op: step.extent for step in claim.path if step.numeric_class in _SUMMED}
        nested = max(claim.extent, math.prod(sums.values()))
    nested = max(nested, claim.extent)
    steps = [step for step in claim.path if step.numeric_class != NumericClass.SELECT_ONLY]
    rounded = sum(step.numeric_class == NumericClass.ARITHMETIC for step in steps)
    if any(_NESTING.search(text) for text in (name, *(step.op for step in steps))):
        nested **= 2
    return int(nested * 2 ** min(rounded, 8))


def looseness(claim: TensorClass, truth: Truth) -> str:
    """An extent of more than twice what the oracles counted; they may not have looked at the right values."""
    if claim.numeric_class in _SUMMED and truth.fan and claim.extent > 2 * truth.together:
        return f"extent {claim.extent}, counted {truth.together}"
    return ""


def differences(declared: Classification, traced: Classification) -> Iterator[Remark]:
    """Everything in which the answer without torch is not that of the trace."""
    left = {plain_name(tensor.name): tensor for tensor in declared.tensors}
    right = {plain_name(tensor.name): tensor for tensor in traced.tensors}
    if list(left) != list(right):
        yield Remark("differing", "", f"tensors {', '.join(left)}; traced {', '.join(right)}")
    for name in (name for name in left if name in right):
        if NumericClass.UNKNOWN in (left[name].numeric_class, right[name].numeric_class):
            continue
        unequal = [
            f"{field} {_shown(getattr(left[name], field))}; traced {_shown(getattr(right[name], field))}"
            for field in (_COMPARED if math.prod(left[name].shape) else _FORM)
            if getattr(left[name], field) != getattr(right[name], field)
            and not (field == "shape" and _is_chosen(right[name]))
        ]
        if unequal:
            yield Remark("differing", name, ", ".join(unequal))


def _is_chosen(traced: TensorClass) -> bool:
    """Whether values choose how many elements there are: the steps say how many at most."""
    return any(step.op.split(".")[1] in _CHOOSING for step in traced.path)


def _shown(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def pairs(
    known: Classification, truths: Mapping[str, Truth], labels: Mapping[str, str]
) -> Iterator[tuple[str, TensorClass, Truth | None]]:
    """Every tensor of an answer with what the oracles saw of it. `labels`: what reports call a tensor of a run."""
    seen = {labels.get(name, name): truth for name, truth in truths.items()}
    for tensor in known.tensors:
        name = plain_name(tensor.name)
        yield name, tensor, seen.get(name)
