"""Sums, softmax, normalisations, losses and attention: what an element is computed from, addends and groups included.

Each function takes a call and gives a term per output; None for what nobody compares or what is not told.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from opscan.numerics.call import Call, Operand, spatial
from opscan.numerics.elements.functions import Arithmetic, elsewhere, group_of, kept_in, lifted, ratio
from opscan.numerics.elements.losses import loss, nll, nll_backward
from opscan.numerics.elements.pointwise import Given
from opscan.numerics.elements.sums import Terms, axes_group, last_axis, own_group, shapes_of
from opscan.numerics.elements.term import Group, Term

Layer = Callable[[Arithmetic, Given], Terms]


# -- sums ------------------------------------------------------------------------------------------------------------


def _sum(of: Arithmetic, given: Given) -> Terms:
    if given.call.packet == "trace":
        return [of.total(given.self, own_group(given.call, min(given.call.tensor("self").shape, default=1)))]
    group = axes_group(given.call)[0]
    return [of.total(given.self, group) if given.call.packet in ("sum", "nansum") else of.mean(given.self, group)]


def _scan(of: Arithmetic, given: Given) -> Terms:
    if given.call.packet != "cumsum":
        return [None]
    return [Term("running", (lifted(given.self),), axes_group(given.call)[0], of.dtype)]


def _deviations(of: Arithmetic, x: Term, group: Group) -> tuple[Term, Term]:
    """The mean and the sum of squared deviations from it."""
    mean = of.mean(x, group)
    difference = of.sub(x, mean)
    return mean, of.total(of.mul(difference, difference), group)


def _moments(of: Arithmetic, given: Given) -> Terms:
    group, _ = axes_group(given.call)
    correction = given.call.arguments.get("correction")
    if correction is None:
        correction = 0 if given.call.arguments.get("unbiased") is False else 1
    mean, squares = _deviations(of, lifted(given.self), group)
    variance = of.div(squares, ratio(max(float(group[1]) - correction, 1.0)))  # type: ignore[arg-type]
    spread = of.sqrt(variance) if "std" in given.call.packet else variance
    return [spread, mean]


def _norm(of: Arithmetic, given: Given) -> Terms:
    order = given.call.arguments.get("ord", given.call.arguments.get("p", 2))
    order = 2 if order is None else order
    if given.call.packet not in ("linalg_vector_norm", "norm", "dist", "linalg__powsum", "powsum"):
        return [None]
    x = of.sub(given.self, given.other) if given.call.packet == "dist" else lifted(given.self)
    group = axes_group(given.call)[0]
    if order == math.inf:
        return [of.largest(of.abs(x), group)]
    if order == 1:
        return [of.total(of.abs(x), group)]
    if order == 2:
        squares = of.total(of.mul(x, x), group)
        return [squares if "powsum" in given.call.packet else of.sqrt(squares)]
    if not isinstance(order, (int, float)) or order <= 0:
        return [None]
    powers = of.total(of.pow(of.abs(x), float(order)), group)
    return [powers if "powsum" in given.call.packet else of.pow(powers, 1 / float(order))]


def _log_sum_exp(of: Arithmetic, given: Given) -> Terms:
    group, x = axes_group(given.call)[0], lifted(given.self)
    of = Arithmetic(given.call.output.dtype)  # PyTorch writes each step to memory
    top = of.largest(x, group)
    return [of.add(of.log(of.total(of.exp(of.sub(x, top)), group)), top)]


# -- softmax ---------------------------------------------------------------------------------------------------------


def softmax(of: Arithmetic, x: Term, group: Group) -> Term:
    powers = of.exp(of.sub(x, of.largest(x, group)))
    return of.div(powers, of.total(powers, group))


def _softmax(of: Arithmetic, given: Given) -> Terms:
    group, x = axes_group(given.call)[0], lifted(given.self)
    if given.call.packet == "_log_softmax":
        shifted = of.sub(x, of.largest(x, group))
        logarithm = of.log(of.total(of.exp(shifted), group))
        return [of.sub(shifted, kept_in(logarithm, given.call.output.dtype))]  # as the kernels on a CPU keep it
    return [None if given.call.packet == "_masked_softmax" else softmax(of, x, group)]


def _softmax_backward(of: Arithmetic, given: Given) -> Terms:
    group = axes_group(given.call, "grad_output")[0]
    gradient, output = given.grad_output, given.output
    if given.call.packet == "_log_softmax_backward_data":
        return [of.sub(gradient, of.mul(of.exp(output), of.total(gradient, group)))]
    if given.call.packet == "_softmax_backward_data":
        weighted = of.mul(gradient, output)
        return [of.sub(weighted, of.mul(output, of.total(weighted, group)))]
    return [None]


# -- products --------------------------------------------------------------------------------------------------------


def _matmul(of: Arithmetic, given: Given) -> Terms:
    names = [name for name, value in given.call.arguments.items() if isinstance(value, Operand)]
    if len(names) not in (2, 3) or given.call.packet.startswith("_"):
        return [None]
    first, second = names[-2:]
    operand = given.call.arguments[first]
    length = operand.shape[-1] if operand.shape else 1
    group = last_axis(operand) if given.call.packet != "addbmm" else own_group(given.call, length * operand.shape[0])
    product = of.dot(given.get(first), elsewhere(given.get(second), "second"), group)
    alpha, beta = given.call.argument("alpha", 1), given.call.argument("beta", 1)
    if len(names) == 2 or beta == 0:
        return [product if alpha == 1 else of.mul(product, alpha)]
    start = given.get(names[0])
    start = start if beta == 1 else of.mul(start, beta)
    return [of.add(product if alpha == 1 else of.mul(product, alpha), start)]


def _convolution(of: Arithmetic, given: Given) -> Terms:
    weight = given.call.tensor("weight")
    transposed = bool(given.call.arguments.get("transposed"))
    if given.call.packet == "conv_tbc":
        addends = math.prod(weight.shape[:2])
    elif transposed:
        strides = spatial(given.call.arguments.get("stride"), len(weight.shape) - 2)
        kernel = math.prod(-(-size // step) for size, step in zip(weight.shape[2:], strides, strict=False))
        addends = weight.shape[0] // max(given.call.argument("groups", 1), 1) * kernel
    else:
        addends = math.prod(weight.shape[1:])
    x = given.get("input") if isinstance(given.call.arguments.get("input"), Operand) else given.self
    product = of.dot(x, elsewhere(given.weight, "kernel"), own_group(given.call, addends))
    bias = given.bias
    return [product if bias is None else of.add(product, bias)]


def _convolution_backward(of: Arithmetic, given: Given) -> Terms:
    gradient = given.grad_output
    factors = (given.weight, given.get("input"))
    terms: list[Term | None] = [
        of.dot(gradient, elsewhere(factor, "kernel"), group_of((given.call.packet, place), given.met(place)))
        for place, factor in enumerate(factors)
    ]
    shape = given.call.tensor("grad_output").shape
    bias = shape[0] * math.prod(shape[2:]) if len(shape) > 1 else 1
    return [*terms, of.total(gradient, group_of((given.call.packet, 2), max(bias, 1)))]


def attention(of: Arithmetic, given: Given) -> Terms:
    query, key, value = (given.call.tensor(name) for name in ("query", "key", "value"))
    scale = ratio(given.call.arguments.get("scale") or 1 / math.sqrt(query.shape[-1]))
    features, keys, queries = last_axis(query), group_of((-1,), key.shape[-2]), group_of((-2,), query.shape[-2])
    q, k, v = given.query, elsewhere(given.key, "key"), elsewhere(given.value, "value")
    scores = of.mul(of.dot(q, k, features), scale)
    if given.attn_mask is not None:
        scores = of.add(scores, given.attn_mask)
    weights = softmax(of, scores, keys)
    if not given.call.packet.endswith("_backward"):
        return [of.dot(weights, v, keys), None]
    upstream = given.grad_out
    of_weights = of.dot(upstream, v, last_axis(value))
    of_scores = of.mul(of.mul(weights, of.sub(of_weights, of.total(of.mul(of_weights, weights), keys))), scale)
    return [
        of.dot(of_scores, elsewhere(k, "features"), keys),
        of.dot(of_scores, elsewhere(q, "features"), queries),
        of.dot(weights, elsewhere(upstream, "features"), queries),
    ]


# -- normalisations --------------------------------------------------------------------------------------------------


def _statistics_group(call: Call) -> Group:
    from opscan.numerics.transfer.norms import normalised

    return group_of((call.packet.removesuffix("_backward"),), max(normalised(call), 1))


def _norm_layer(of: Arithmetic, given: Given) -> Terms:
    from opscan.numerics.transfer.norms import training

    x, group, epsilon = given.get("input"), _statistics_group(given.call), given.call.argument("eps", 1e-5)
    if "rms" in given.call.packet:
        root = of.rsqrt(of.add(of.mean(of.mul(x, x), group), epsilon))
        return [_scaled(of, of.mul(x, root), given), root]
    if "batch_norm" in given.call.packet and not training(given.call):
        mean, inverse = given.running_mean, of.rsqrt(of.add(given.running_var, epsilon))
    else:
        mean, squares = _deviations(of, x, group)
        inverse = of.rsqrt(of.add(of.div(squares, ratio(float(group[1]))), epsilon))  # type: ignore[arg-type]
    return [_scaled(of, of.mul(of.sub(x, mean), inverse), given), mean, inverse]


def _scaled(of: Arithmetic, normal: Term, given: Given) -> Term:
    if given.weight is not None:
        normal = of.mul(normal, given.weight)
    return normal if given.bias is None else of.add(normal, given.bias)


def _norm_layer_backward(of: Arithmetic, given: Given) -> Terms:
    from opscan.numerics.transfer.norms import affine_extent, training

    if "batch_norm" in given.call.packet and not training(given.call):
        return [None]
    group = _statistics_group(given.call)
    gradient, x = given.get("grad_out", given.grad_output), given.get("input")
    mean = given.get("mean", given.save_mean)
    inverse = given.get("rstd", given.save_invstd)
    normal = of.mul(of.sub(x, mean), inverse)
    weighted = gradient if given.weight is None else of.mul(gradient, given.weight)
    shared = of.add(of.mean(weighted, group), of.mul(normal, of.mean(of.mul(weighted, normal), group)))
    rows = max(affine_extent(given.call, given.call.tensor("input"), int(group[1])), 1)  # type: ignore[call-overload]
    across = group_of((given.call.packet, "rows"), rows)
    return [
        of.mul(of.sub(weighted, shared), inverse),
        of.total(of.mul(gradient, normal), across),
        of.total(gradient, across),
    ]


# -- windows and places ----------------------------------------------------------------------------------------------


def _pool(of: Arithmetic, given: Given) -> Terms:
    window = own_group(given.call, given.met() if given.call.joined().addends == 1 else 0)
    return [of.mean(given.self, window)]


def _met(of: Arithmetic, given: Given) -> Terms:
    """What is added up where places repeat: the last tensor that holds numbers, onto the first of two."""
    names = [name for name, value in given.call.arguments.items() if isinstance(value, Operand) and value.rounds]
    if not names or len(names) > 2:
        return [None]
    most = max(given.met(), 1)
    moved = elsewhere(given.get(names[-1]), shapes_of(given.call))
    if len(names) == 1 or given.call.arguments[names[0]].zero:
        return [of.total(moved, own_group(given.call, most))]
    return [of.add(given.get(names[0]), of.total(moved, own_group(given.call, most - 1)))]


def _averages_met(of: Arithmetic, given: Given) -> Terms:
    gradient = given.grad_output
    source, made = given.call.tensor("grad_output").numel, given.call.output.numel
    if "avg" in given.call.packet:
        kernel = given.call.arguments.get("kernel_size")
        window = math.prod(spatial(kernel, 2)) if kernel else max(made // max(source, 1), 1)
        gradient = of.div(gradient, ratio(float(window)))
    return [of.total(elsewhere(gradient, given.call.packet), own_group(given.call, given.met()))]


def _largest(of: Arithmetic, given: Given) -> Terms:
    kernel = given.call.arguments.get("kernel_size")
    window = (
        math.prod(spatial(kernel, 2)) if kernel else given.call.tensor("self").numel // max(given.call.output.numel, 1)
    )
    return [of.largest(given.self, own_group(given.call, window)), None]


def _extreme(of: Arithmetic, given: Given) -> Terms:
    x = lifted(given.self)
    if given.call.packet in ("max", "min", "amax", "amin", "aminmax", "_aminmax"):
        group = axes_group(given.call)[0]
        top = of.largest(x, group)
        low = of.neg(of.largest(of.neg(x), group))
        return [low, top] if "aminmax" in given.call.packet else [top if "max" in given.call.packet else low]
    return [None] if given.call.packet.startswith("arg") else [elsewhere(x, shapes_of(given.call)), None]


def _log_sigmoid(of: Arithmetic, given: Given) -> Terms:
    return [of.log_sigmoid(given.self), kept_in(of.exp(of.neg(of.abs(given.self))), given.call.output.dtype)]


def _gated(of: Arithmetic, given: Given) -> Terms:
    return [of.mul(given.self, of.sigmoid(elsewhere(given.self, "gate")))]


PACKETS: dict[str, Layer] = {"log_sigmoid_forward": _log_sigmoid, "glu": _gated}
"""By name, before the kind is looked at."""
LAYERS: dict[str, Layer] = {
    "sum": _sum,
    "mean": _sum,
    "scan": _scan,
    "moments": _moments,
    "norm": _norm,
    "log-sum-exp": _log_sum_exp,
    "softmax": _softmax,
    "softmax-backward": _softmax_backward,
    "loss": loss,
    "nll": nll,
    "nll-backward": nll_backward,
    "matmul": _matmul,
    "convolution": _convolution,
    "convolution-backward": _convolution_backward,
    "attention": attention,
    "norm-layer": _norm_layer,
    "norm-layer-backward": _norm_layer_backward,
    "average-pool": _pool,
    "pool-backward": _averages_met,
    "adaptive-backward": _averages_met,
    "pad-backward": _averages_met,
    "nearest-backward": _averages_met,
    "scatter-sum": _met,
    "fold": _met,
    "unfold-backward": _met,
    "max-pool": _largest,
    "extreme": _extreme,
}
"""By kind."""
