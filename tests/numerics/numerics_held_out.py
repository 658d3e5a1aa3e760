"""Calls at sizes and attributes of this project's own, which took no part in writing the kinds table."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import random
from collections.abc import Iterable, Iterator

import torch
import torch.nn.functional as F

from opscan.checking.runs import Subject, full_mantissa, subject


class Draw:
    """Random sizes and data for one call. Floats have full mantissas and want gradients."""

    def __init__(self, dtype: torch.dtype, seed: int) -> None:
        self.dtype = dtype
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def size(self, low: int = 3, high: int = 9) -> int:
        return self.random.randint(low, high)

    def t(self, *shape: int) -> torch.Tensor:
        return full_mantissa(shape, self.dtype, self.generator).requires_grad_()

    def positive(self, *shape: int) -> torch.Tensor:
        return (self.t(*shape).detach().abs() + 0.1).to(self.dtype).requires_grad_()

    def mask(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.generator) > 0.5

    def index(self, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, high, shape, generator=self.generator)


def _shapes(d: Draw) -> Iterator[Subject]:
    """Broadcasts, reductions, scans and contractions at sizes of this project's own."""
    a, b, c = d.size(), d.size(), d.size()
    for one, other in (
        ((a, b), (b,)),
        ((a, b), (a, 1)),
        ((a, 1), (1, b)),
        ((2, b), (1, b)),
        ((a, b, c), (b, 1)),
        ((a,), ()),
    ):
        for name in ("add", "sub", "mul", "div", "maximum", "minimum", "atan2", "hypot", "fmax", "pow", "remainder"):
            first = d.positive(*one) if name == "pow" else d.t(*one)
            yield subject(f"torch.{name}", getattr(torch, name), first, d.t(*other), label=f"{one}{other}")
        yield subject("torch.where", torch.where, d.mask(*one), d.t(*one), d.t(*other), label=f"{one}{other}")
        yield subject("torch.lerp", torch.lerp, d.t(*one), d.t(*one), d.t(*other), label=f"{one}{other}")
        yield subject(
            "torch.addcmul", torch.addcmul, d.t(*one), d.t(*one), d.t(*other), value=0.5, label=f"{one}{other}"
        )
    for shape, axis in (
        ((a, b), 1),
        ((a, b), 0),
        ((a, 1), 1),
        ((a, 2), 1),
        ((2, 2), (0, 1)),
        ((a, b, c), (0, 2)),
        ((1, c), 0),
    ):
        for name in ("sum", "mean", "amax", "amin", "logsumexp", "var", "std", "nansum"):
            for keep in (False, True):
                yield subject(
                    f"torch.{name}", getattr(torch, name), d.t(*shape), dim=axis, keepdim=keep, label=f"{shape}{axis}"
                )
        for order in (0, 1, 2, 3, float("inf"), float("-inf"), 0.5):
            yield subject(
                "linalg.vector_norm",
                torch.linalg.vector_norm,
                d.t(*shape),
                ord=order,
                dim=axis,
                label=f"{shape}{order}",
            )
        if isinstance(axis, int):
            for name in (
                "cumsum",
                "cumprod",
                "logcumsumexp",
                "prod",
                "cummax",
                "sort",
                "median",
                "softmax",
                "log_softmax",
                "argmax",
                "flip",
                "mode",
                "kthvalue",
            ):
                extra = (1, axis) if name == "kthvalue" else ((axis,),) if name == "flip" else (axis,)
                yield subject(f"torch.{name}", getattr(torch, name), d.t(*shape), *extra, label=f"{shape}{axis}")
    for m, k, n in ((a, b, c), (a, 1, c), (1, 2, 1), (a, 2, c), (1, b, c), (a, 0, c)):
        yield subject("torch.matmul", torch.matmul, d.t(m, k), d.t(k, n), label=f"{m}x{k}x{n}")
        yield subject("torch.bmm", torch.bmm, d.t(3, m, k), d.t(3, k, n), label=f"{m}x{k}x{n}")
        for alpha, beta in ((1, 1), (0.7, 1), (1, 0.3), (2, 0)):
            yield subject(
                "torch.addmm", torch.addmm, d.t(n), d.t(m, k), d.t(k, n), alpha=alpha, beta=beta, label=f"{m}x{k}x{n}"
            )
        yield subject("F.linear", F.linear, d.t(m, k), d.t(n, k), d.t(n), label=f"{m}x{k}x{n}")
        yield subject("torch.einsum", torch.einsum, "ij,kj->ik", d.t(m, k), d.t(n, k), label=f"{m}x{k}x{n}")
        yield subject("torch.outer", torch.outer, d.t(m), d.t(n), label=f"{m}x{n}")
        yield subject("torch.cdist", torch.cdist, d.t(m, k), d.t(n, k), label=f"{m}x{k}x{n}")


def _windows(d: Draw) -> Iterator[Subject]:
    h, w = d.size(6, 9), d.size(6, 9)
    for kernel, stride, padding, dilation in (
        (2, 2, 0, 1),
        (3, 1, 1, 1),
        (3, 2, 1, 1),
        (2, 1, 0, 2),
        (1, 1, 0, 1),
        (3, 3, 0, 1),
        (2, 3, 0, 2),
    ):
        label = f"k{kernel}s{stride}p{padding}d{dilation}"
        yield subject("F.max_pool2d", F.max_pool2d, d.t(1, 2, h, w), kernel, stride, padding, dilation, label=label)
        if dilation == 1:
            for ceil, counted in ((False, True), (True, False)):
                yield subject(
                    "F.avg_pool2d", F.avg_pool2d, d.t(1, 2, h, w), kernel, stride, padding, ceil, counted, label=label
                )
            yield subject("F.avg_pool1d", F.avg_pool1d, d.t(1, 2, w), kernel, stride, padding, label=label)
        for groups in (1, 2):
            weight = d.t(4, 2 // groups, kernel, kernel)
            convolved = (d.t(2, 2, h, w), weight, d.t(4), stride, padding, dilation, groups)
            yield subject("F.conv2d", F.conv2d, *convolved, label=f"{label}g{groups}")
        yield subject(
            "F.conv_transpose2d",
            F.conv_transpose2d,
            d.t(1, 2, 4, 4),
            d.t(2, 3, kernel, kernel),
            None,
            stride,
            label=label,
        )
        yield subject("F.unfold", F.unfold, d.t(1, 2, h, w), kernel, dilation, padding, stride, label=label)
        yield subject("Tensor.unfold", torch.Tensor.unfold, d.t(h), 0, kernel, stride, label=label)
    for width in (1, 2):  # more windows than columns
        yield subject("F.unfold", F.unfold, d.t(1, 2, h, width), 2, 2, (1, 2), (1, 2), label=f"{h}x{width}")
    for mode in ("constant", "reflect", "replicate", "circular"):
        for pad in ((1, 1), (3, 2), (0, 2), (5, 4), (2, 2, 1, 3)):
            yield subject(
                "F.pad", F.pad, d.t(1, 2, h, w) if len(pad) == 4 else d.t(2, w), pad, mode, label=f"{mode}{pad}"
            )
    for mode in ("nearest", "bilinear", "bicubic", "nearest-exact"):
        for size in ((h, w), (2 * h, 3 * w), (h + 1, w + 2), (3, 4), (h, 2 * w)):
            yield subject("F.interpolate", F.interpolate, d.t(1, 2, h, w), size, None, mode, label=f"{mode}{size}")
        for factor in (2.0, 1.5, 0.5, 1.09):
            yield subject("F.interpolate", F.interpolate, d.t(1, 2, h, w), None, factor, mode, label=f"{mode}{factor}")
    for size in (1, 2, 3, (h, w), (5, 3)):
        yield subject("F.adaptive_avg_pool2d", F.adaptive_avg_pool2d, d.t(1, 2, h, w), size, label=f"{h}x{w}->{size}")
        yield subject("F.adaptive_max_pool2d", F.adaptive_max_pool2d, d.t(1, 2, h, w), size, label=f"{h}x{w}->{size}")


def _indices(d: Draw) -> Iterator[Subject]:
    rows, columns = d.size(4, 12), d.size(2, 5)
    for count in (1, 2, rows, 3 * rows):
        index, label = d.index(rows, count), f"{count} in {rows}"
        wide = index[:, None].expand(count, columns).contiguous()
        yield subject("torch.index_select", torch.index_select, d.t(rows, columns), 0, index, label=label)
        yield subject("torch.gather", torch.gather, d.t(rows, columns), 0, wide, label=label)
        yield subject("torch.take", torch.take, d.t(rows), index, label=label)
        yield subject("F.embedding", F.embedding, index, d.t(rows, columns), label=label)
        yield subject("F.embedding", F.embedding, index, d.t(rows, columns), 0, label=f"{label} padded")
        yield subject("Tensor.__getitem__", lambda t, i: t[i], d.t(rows, columns), index, label=label)
        yield subject(
            "torch.index_add", torch.index_add, d.t(rows, columns), 0, index, d.t(count, columns), label=label
        )
        yield subject(
            "torch.scatter_add", torch.scatter_add, d.t(rows, columns), 0, wide, d.t(count, columns), label=label
        )
        yield subject("torch.scatter", torch.scatter, d.t(rows, columns), 0, wide, d.t(count, columns), label=label)
        yield subject(
            "torch.index_copy", torch.index_copy, d.t(rows, columns), 0, index, d.t(count, columns), label=label
        )
        for accumulate in (False, True):
            yield subject(
                "torch.index_put",
                torch.index_put,
                d.t(rows, columns),
                [index],
                d.t(count, columns),
                accumulate,
                label=label,
            )
        for reduce in ("sum", "mean", "prod", "amax"):
            yield subject(
                "torch.scatter_reduce",
                torch.scatter_reduce,
                d.t(rows, columns),
                0,
                wide,
                d.t(count, columns),
                reduce,
                label=label,
            )
        for mode in ("sum", "mean"):
            yield subject(
                "F.embedding_bag",
                F.embedding_bag,
                index.reshape(-1, 1),
                d.t(rows, columns),
                mode=mode,
                label=f"{label}{mode}",
            )
        for mode in ("sum", "mean", "max"):
            yield subject(
                "F.embedding_bag",
                F.embedding_bag,
                index.reshape(1, -1),
                d.t(rows, columns),
                mode=mode,
                label=f"{label}{mode}",
            )
    yield subject("torch.masked_select", torch.masked_select, d.t(columns), d.mask(rows, columns))
    yield subject(
        "torch.masked_scatter", torch.masked_scatter, d.t(rows, columns), d.mask(rows, columns), d.t(rows * columns)
    )
    yield subject("torch.repeat_interleave", torch.repeat_interleave, d.t(rows), d.index(4, rows))


def _layers(d: Draw) -> Iterator[Subject]:
    for rows, columns in ((1, d.size()), (2, d.size()), (d.size(), d.size()), (d.size(), 1), (d.size(), 2)):
        label = f"{rows}x{columns}"
        yield subject(
            "F.layer_norm", F.layer_norm, d.t(rows, columns), (columns,), d.t(columns), d.t(columns), label=label
        )
        yield subject("F.rms_norm", F.rms_norm, d.t(rows, columns), (columns,), d.t(columns), label=label)
        if rows > 1:
            yield subject(
                "F.batch_norm",
                F.batch_norm,
                d.t(rows, columns),
                None,
                None,
                d.t(columns),
                d.t(columns),
                True,
                label=label,
            )
        running = (torch.zeros(columns, dtype=d.dtype), torch.ones(columns, dtype=d.dtype))
        yield subject(
            "F.batch_norm", F.batch_norm, d.t(rows, columns), *running, d.t(columns), d.t(columns), False, label=label
        )
        yield subject("F.group_norm", F.group_norm, d.t(rows, 4, columns), 2, d.t(4), d.t(4), label=label)
        for reduction in ("none", "mean", "sum"):
            target = d.index(columns, rows)
            yield subject(
                "F.cross_entropy", F.cross_entropy, d.t(rows, columns), target, reduction=reduction, label=label
            )
            yield subject(
                "F.nll_loss",
                F.nll_loss,
                d.t(rows, columns),
                target,
                d.positive(columns).detach(),
                reduction=reduction,
                label=label,
            )
            yield subject("F.nll_loss", F.nll_loss, d.t(rows, columns), target, reduction=reduction, label=label)
            for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div):
                wanted = d.positive(rows, columns) if loss is F.kl_div else d.t(rows, columns)
                yield subject(f"F.{loss.__name__}", loss, d.t(rows, columns), wanted, reduction=reduction, label=label)
        yield subject("F.prelu", F.prelu, d.t(rows, columns), d.t(1), label=label)
        yield subject("F.glu", F.glu, d.t(rows, 2 * columns), label=label)
        yield subject("F.normalize", F.normalize, d.t(rows, columns), label=label)
        yield subject("F.cosine_similarity", F.cosine_similarity, d.t(rows, columns), d.t(rows, columns), label=label)
    for name in (
        "relu",
        "gelu",
        "silu",
        "mish",
        "softplus",
        "hardtanh",
        "hardswish",
        "leaky_relu",
        "elu",
        "relu6",
        "softsign",
    ):
        yield subject(f"F.{name}", getattr(F, name), d.t(d.size(), d.size()))
    yield subject("sdpa", F.scaled_dot_product_attention, d.t(1, 2, 5, 4), d.t(1, 2, 6, 4), d.t(1, 2, 6, 3))


def _copies(d: Draw) -> Iterator[Subject]:
    a, b = d.size(), d.size()
    for sizes in ((a, b), (4, a, b), (a, 3 * b)):
        if sizes[-1] == b:
            yield subject("Tensor.expand", torch.Tensor.expand, d.t(1, b), (*sizes[:-1], b), label=str(sizes))
    for repeats in ((1, 1), (2, 1), (3, 2), (2, 1, 1)):
        yield subject("Tensor.repeat", torch.Tensor.repeat, d.t(a, b), repeats, label=str(repeats))
    for source in (
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.int16,
        torch.int64,
        torch.bool,
        torch.uint8,
    ):
        for target in (torch.float32, torch.float16, torch.bfloat16):
            tensor = full_mantissa((a, b), torch.float64, d.generator) * 100
            yield subject("Tensor.to", lambda t, to: t.to(to), tensor.to(source), target, label=f"{source}->{target}")
            yield subject("torch.add", torch.add, tensor.to(source), tensor.to(target), label=f"{source}+{target}")
            yield subject("torch.mul", torch.mul, tensor.to(source), tensor.to(target), label=f"{source}*{target}")
    for scalar in (2.0, 0.5, 3.0, 0.1, 1, 0, -4, 1024.0):
        for name in ("add", "sub", "mul", "div", "pow", "rsub"):
            if name != "pow" or scalar > 0:
                yield subject(f"torch.{name}", getattr(torch, name), d.positive(a, b), scalar, label=str(scalar))
        yield subject("torch.add", torch.add, d.t(a, b), d.t(a, b), alpha=scalar, label=f"alpha {scalar}")
    for name in (
        "abs",
        "neg",
        "sign",
        "floor",
        "exp",
        "sqrt",
        "tanh",
        "reciprocal",
        "square",
        "trunc",
        "frac",
        "sgn",
        "deg2rad",
        "log",
        "rsqrt",
        "sigmoid",
        "sin",
        "cos",
    ):
        yield subject(f"torch.{name}", getattr(torch, name), d.positive(a, b))
    yield subject("torch.cat", torch.cat, [d.t(a, b), d.t(a, b)])
    yield subject("torch.stack", torch.stack, [d.t(a, b), d.t(a, b)])
    yield subject("torch.tensor_split", torch.tensor_split, d.t(9, b), 3)
    yield subject("torch.topk", torch.topk, d.t(a, b), 2)
    yield subject("four uses", lambda t: t.exp() + t + t * 3 + t.neg(), d.t(a, b))
    yield subject("rotate halves", lambda t: torch.cat([-t[..., 2:], t[..., :2]], -1), d.t(a, 4))
    yield subject("torch._foreach_add", torch._foreach_add, [d.t(a), d.t(b)], [d.t(a), d.t(b)])
    yield subject("torch._foreach_norm", torch._foreach_norm, [d.t(a), d.t(b)])


def _kernels(d: Draw) -> Iterator[Subject]:
    """Backward kernels called as operators, as specs name them: no forward run has rounded their operands."""
    a, b, aten = d.size(4), d.size(4), torch.ops.aten
    for name in ("tanh_backward", "sigmoid_backward", "threshold_backward", "gelu_backward", "silu_backward"):
        extra = (0.0,) if name.startswith("threshold") else ()
        yield subject(name, getattr(aten, name), d.t(a, b).detach(), d.t(a, b).detach(), *extra)
    for name in ("_softmax_backward_data", "_log_softmax_backward_data"):
        yield subject(name, getattr(aten, name), d.t(a, b).detach(), d.t(a, b).detach(), 1, d.dtype)
    yield subject("xlogy", torch.xlogy, d.positive(a, b), d.positive(a, b))
    yield subject("dot", torch.dot, d.t(6 * a), d.t(6 * a))
    yield subject("mv", torch.mv, d.t(a, 6 * b), d.t(6 * b))
    yield subject("F.interpolate", F.interpolate, d.t(1, 2, a), 4 * a, None, "nearest", label="1d")
    yield subject("F.interpolate", F.interpolate, d.t(1, 2, a), 3 * a, None, "linear", label="1d")
    if d.dtype == torch.float32:
        x, y = d.t(a, 5).detach(), d.t(b, 5).detach()
        yield subject("_cdist_backward", aten._cdist_backward, d.t(a, b).detach(), x, y, 2.0, torch.cdist(x, y))
        norm = (
            d.t(3, 4, b).detach(),
            d.t(3, 4, b).detach(),
            d.t(3, 2).detach(),
            d.positive(3, 2).detach(),
            d.t(4).detach(),
        )
        yield subject("group_norm_backward", aten.native_group_norm_backward, *norm, 3, 4, b, 2, [True, True, True])


def held_out(dtype: torch.dtype, seeds: Iterable[int] = (1, 2)) -> Iterator[Subject]:
    """Calls at sizes and attributes that took no part in writing the kinds table."""
    for seed in seeds:
        for family in (_shapes, _windows, _indices, _layers, _copies, _kernels):
            yield from family(Draw(dtype, seed))
