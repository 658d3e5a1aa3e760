"""Losses: the value of each element, and what is added up."""

from __future__ import annotations

import math
from collections.abc import Callable

from opscan.numerics.call import Call
from opscan.numerics.elements.functions import Arithmetic, either, elsewhere, group_of, inner, kept_in, lifted, ratio
from opscan.numerics.elements.pointwise import Given
from opscan.numerics.elements.sums import Terms, own_group
from opscan.numerics.elements.term import Term

_LOWEST_LOG = -100.0


def _squared(of: Arithmetic, given: Given) -> Term:
    difference = of.sub(given.self, given.target)
    return of.mul(difference, difference)


def _smooth_l1(of: Arithmetic, given: Given) -> Term:
    beta = given.get("beta", 1.0)
    size = of.abs(of.sub(given.self, given.target))
    if not beta:
        return size
    return of.where(of.less(size, beta), of.div(of.mul(of.mul(size, size), 0.5), beta), of.sub(size, beta / 2))


def _huber(of: Arithmetic, given: Given) -> Term:
    delta = given.get("delta", 1.0)
    size = of.abs(of.sub(given.self, given.target))
    return of.where(of.less(size, delta), of.mul(of.mul(size, size), 0.5), of.mul(of.sub(size, delta / 2), delta))


def _entropy(of: Arithmetic, given: Given) -> Term:
    x, target = given.self, given.target
    no, yes = of.maximum(of.log1p(of.neg(x)), _LOWEST_LOG), of.maximum(of.log(x), _LOWEST_LOG)
    loss = of.sub(of.mul(of.sub(target, 1), no), of.mul(target, yes))
    return loss if given.weight is None else of.mul(loss, given.weight)


def _entropy_of_logits(of: Arithmetic, given: Given) -> Term:
    x, target, weight = given.self, given.target, given.pos_weight
    logarithm = kept_in(Arithmetic(inner(of.dtype)).log_sigmoid(x), of.dtype)
    if weight is not None:
        logarithm = of.mul(of.add(of.mul(of.sub(weight, 1), target), 1), logarithm)
    loss = of.sub(of.mul(of.sub(1, target), x), logarithm)
    return loss if given.weight is None else of.mul(loss, given.weight)


def _soft_margin(of: Arithmetic, given: Given) -> Term:
    return of.log1p(of.exp(of.neg(of.mul(given.self, given.target))))


_LOSSES: dict[str, Callable[[Arithmetic, Given], Term]] = {
    "mse_loss": _squared,
    "smooth_l1_loss": _smooth_l1,
    "huber_loss": _huber,
    "binary_cross_entropy": _entropy,
    "binary_cross_entropy_with_logits": _entropy_of_logits,
    "soft_margin_loss": _soft_margin,
}


_STEP_BY_STEP = frozenset(
    {
        *("binary_cross_entropy_with_logits", "soft_margin_loss"),
        *("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"),
    }
)
"""PyTorch composes the first two of operators, each of which writes its result to memory; the kernels of the others
compute in the format of the input (measured: a third of their results err by more than half a unit)."""


def loss(of: Arithmetic, given: Given) -> Terms:
    dtype = given.call.output.dtype
    steps = Arithmetic(dtype) if given.call.packet in _STEP_BY_STEP else of
    # each element's loss is written to memory before they are added up
    return [_reduced(of, kept_in(_LOSSES[given.call.packet](steps, given), dtype), given.call)]


def _reduced(of: Arithmetic, loss: Term, call: Call) -> Term:
    shape = call.tensor("self").shape
    group = group_of(tuple(range(-len(shape), 0)), max(math.prod(shape), 1))
    reduction = call.arguments.get("reduction", 1)
    return loss if reduction == 0 else of.total(loss, group) if reduction == 2 else of.mean(loss, group)


def nll(of: Arithmetic, given: Given) -> Terms:
    source = given.call.tensor("self")
    samples = source.numel // max(source.shape[1] if len(source.shape) > 1 else source.numel, 1)
    loss = of.neg(elsewhere(lifted(given.self), "target"))
    if given.weight is not None:
        loss = of.mul(loss, elsewhere(given.weight, "target"))
    reduction, group = given.call.arguments.get("reduction", 1), own_group(given.call, samples)
    weights = ratio(float(samples)) if given.weight is None else None
    if reduction == 0:
        return [loss, weights]
    if reduction == 2:
        return [of.total(loss, group), weights]
    total = weights or of.total(elsewhere(given.weight, "target"), group)
    return [of.div(of.total(loss, group), total), total]


def nll_backward(of: Arithmetic, given: Given) -> Terms:
    gradient = of.neg(given.grad_output)
    if given.weight is not None:
        gradient = of.mul(gradient, elsewhere(given.weight, "target"))
    if given.call.arguments.get("reduction", 1) == 1:
        gradient = of.div(gradient, given.total_weight)
    classes = given.call.tensor("self").shape[1:2] or (1,)
    return [either(gradient, lifted(0), 1 / max(classes[0], 1))]
