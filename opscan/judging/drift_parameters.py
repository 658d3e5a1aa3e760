"""What decides how far two correct kernels can differ on one compared tensor: addends, outputs, ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opscan.dataclass import dataclass, replace
from opscan.judging.adequacy import Walk, failure_probability, spread_failure
from opscan.judging.drifts.formulas import composed_spread
from opscan.judging.drifts.shape import chooses
from opscan.judging.drifts.spread import Spread
from opscan.judging.error_model import Addends, drift
from opscan.judging.floating import FORMATS, HF32_INPUT_ROUNDOFF, PARTS, part_of
from opscan.judging.orders import Order
from opscan.judging.pass_rules import Rule
from opscan.judging.ranges import all_tensors, as_drawn, draw_of, holds_no_numbers, input_at, input_range, is_unbounded
from opscan.judging.settings import Judge
from opscan.model import Case, CaseInput, NumericClass, Step, TensorClass
from opscan.numerics.dtypes import compared_dtype

if TYPE_CHECKING:
    from opscan.judging.devices import Device

_MOST_ROUNDINGS = 8
_REDUCED = (NumericClass.ACCUMULATED, NumericClass.BROADCAST_REDUCED)
ORDERED = ("broadcast", "reduction")
"""Causes of sums that go through a vector unit, whose order a vendor may document."""
_UNORDERED = ("scatter", "window", "scan")
"""Causes of sums for which no vendor documents one; the sums within a contraction are told by their step."""
_ADDING = ("add", "sub", "lerp", "cross", "dist", "mse", "l1_loss", "huber")
"""Packets in whose results parts of opposite sign can cancel."""

_CONTRACTING = frozenset(("mm", "bmm", "addmm", "addmv", "addr", "addbmm", "baddbmm", "mv", "dot", "vdot", "linear"))
_MULTIPLYING = _CONTRACTING | {"mul", "matmul", "convolution", "convolution_backward"}
_AVERAGING = frozenset(("mean", "avg_pool1d", "avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d"))
_PADDING = frozenset(f"{kind}_pad{rank}d_backward" for kind in ("reflection", "replication") for rank in (1, 2, 3))
_RESIZING = frozenset(f"upsample_nearest{rank}d_backward" for rank in (1, 2, 3))
_SCATTERING = frozenset(("scatter_add", "scatter_add_", "index_add", "index_add_", "index_put", "index_put_"))
_GATHERED = frozenset(
    ("put", "_index_put_impl_", "embedding_dense_backward", "index_select_backward", "unfold_backward")
)
_WINDOWS = frozenset(("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "col2im", "im2col"))
_SUMS = frozenset(("sum", "nansum", "cumsum", "trace", "add", "sub"))
_CASCADING = frozenset(("sum", "nansum", "mean"))
"""Packets that go through at::sum, which cascades on every CPU; vectors, threads, libraries decide how others add."""
_SHORT = (
    *("index_put", "put_", "embedding", "index_add", "index_select_backward", "index_reduce"),
    *("unfold_backward", "col2im", "_pad1d_backward", "_pad2d_backward", "_pad3d_backward", "max_pool"),
    *("avg_pool2d_backward", "avg_pool3d", "grid_sampler", "scatter_add"),
    "native_layer_norm_backward",
)
"""Parts of the names of packets that add fp16 and bf16 on a CPU without a longer accumulator, at some shapes at least:
`index_add` does in one dimension and along an inner axis."""
_SIZED = (
    _MULTIPLYING | {"linalg_cross"} | _AVERAGING | _SUMS | _PADDING | _RESIZING | _SCATTERING | _GATHERED | _WINDOWS
)
"""Packets whose results have the size that their addends and the extent say."""


@dataclass(frozen=True, slots=True)
class DriftParameters:
    """The fields of `adequacy.failure_probability` for one compared tensor of one case.

    `sized`: the size of the result follows from the addends, so that it is known what a wrong result would look like.
    """

    dtype: str
    extent: int
    outputs: int
    low: float
    high: float
    distribution: str
    products: bool
    roundings: int
    cancels: bool
    sized: bool = True
    factors: str = ""
    factor_roundoff: float = HF32_INPUT_ROUNDOFF
    golden: str = "framework"
    order: Order | None = None
    """The orders of the judge's device, where it documents any for such a sum."""
    cause: str = ""
    spread: Spread | None = None
    """Of a formula that is more than one sum; the fields of single sums then describe its longest."""
    doubt: str = ""
    """Why the prediction is a guess: a step that no model follows, a range without bounds."""
    weak: str = ""
    """Why it proves nothing though a model follows each step: its family was off when emulated, or was not."""
    drawn: tuple[DriftParameters, ...] = ()
    """Where ATK draws once what all elements share, such as the mean of an input: those of some draws."""

    def failure(self, rule: Rule, *, accumulator: str | None = None) -> float:
        """The probability that a correct kernel fails a case under `rule`; one with another `accumulator` is wrong."""
        if self.drawn:
            return sum(parameters.failure(rule, accumulator=accumulator) for parameters in self.drawn) / len(self.drawn)
        if self.spread is not None:
            return spread_failure(rule, self.dtype, self.spread, self.count)
        return failure_probability(
            rule,
            self.dtype,
            self.extent,
            self.outputs,
            self.low,
            self.high,
            distribution=self.distribution,
            products=self.products,
            roundings=self.roundings,
            accumulator=accumulator,
            cancels=self.cancels,
            factors=self.factors,
            factor_roundoff=self.factor_roundoff,
            order=self.order,
            golden=self.golden,
        )

    def failure_of_one(self, rule: Rule) -> float:
        """The probability that a single element is out of tolerance."""
        one = replace(self, outputs=1, dtype=part_of(self.dtype), drawn=())
        if self.drawn:
            return sum(parameters.failure_of_one(rule) for parameters in self.drawn) / len(self.drawn)
        return one.failure(rule)

    @property
    def addends(self) -> Addends:
        held = "fp64" if part_of(self.dtype) == "fp64" else "fp32"
        return Addends(
            self.low,
            self.high,
            self.distribution,
            self.products,
            self.roundings,
            held,
            self.cancels,
            factors=self.factors,
            factor_roundoff=self.factor_roundoff,
            order=self.order,
            golden=self.golden,
        )

    @property
    def walk(self) -> Walk:
        """The drift of two correct results. Raises ValueError where no model applies."""
        if self.spread is not None:
            return self.spread
        return drift(part_of(self.dtype), self.extent, self.addends)

    @property
    def count(self) -> int:
        """How many numbers are compared: two per complex element."""
        return self.outputs * 2 if self.dtype in PARTS else self.outputs


def drift_parameters(
    tensor: TensorClass, case: Case, judge: Judge, *, own: bool = False, lone: bool = False
) -> DriftParameters | None:
    """The parameters of a tensor that needs a tolerance; None for dtypes that no error model covers.

    `own`: the golden is the framework's operator itself; `lone`: its result is one number, as that of a loss.
    """
    if part_of(tensor.dtype) not in FORMATS:
        return None
    parameters = _parameters(tensor, case, judge, own=own)
    lone = lone and any(step[0] == "upstream" for step in tensor.formula)
    several = parameters.outputs > 1 or parameters.extent > 1
    shared = as_drawn(case, judge, _inputs_of(tensor, case), lone=lone) if several else ()
    drawn = tuple([_parameters(tensor, each, under, own=own) for each, under in shared])
    return replace(parameters, drawn=drawn) if drawn else parameters


def _parameters(tensor: TensorClass, case: Case, judge: Judge, *, own: bool) -> DriftParameters:
    reduced = tensor.numeric_class in _REDUCED
    extent = max(1, tensor.extent) if reduced else 1
    packets = [_packet(step.op) for step in tensor.path if step.numeric_class is not NumericClass.SELECT_ONLY]
    sized = reduced and all(packet in _SIZED for packet in packets)
    averages = sized and any(packet in _AVERAGING for packet in packets)
    averages = averages or (reduced and bool(packets) and all(_spreads_averages(packet) for packet in packets))
    products = reduced and tensor.products and not (averages and not _MULTIPLYING.intersection(packets))
    low, high, distribution = _addend_range(tensor, case, judge, products)
    if averages:
        low, high = low / extent, high / extent
    spread, unfollowed = composed_spread(
        tensor, lambda place: draw_of(case, place, judge), judge.upstream, _documented(tensor, judge)
    )
    device = judge.device
    sized = sized or spread is not None
    inputs = _inputs_of(tensor, case)
    return DriftParameters(
        dtype=tensor.dtype,
        extent=extent,
        # what is made of inf and nan, and nothing else, is exact, or the golden holds them and passes unread
        outputs=0 if _holds_no_numbers(tensor, inputs) else math.prod(tensor.shape),
        low=low,
        high=high,
        distribution=distribution,
        products=products,
        roundings=_roundings_of_addends(tensor, packets, averages, own) if reduced else _roundings(tensor),
        cancels=reduced or any(word in step.op for step in tensor.path for word in _ADDING),
        sized=sized,
        factors="hf32" if products and tensor.dtype == "fp32" and _runs_as_hf32(packets, judge) else "",
        factor_roundoff=2.0 ** -(device.hf32 + 1) if device and device.hf32 else HF32_INPUT_ROUNDOFF,
        golden=_golden(tensor, packets, case, judge, own) if extent > 2 else judge.golden,
        order=device.order if device and tensor.cause in ORDERED else None,
        cause=tensor.cause or "",
        spread=spread,
        doubt=_doubt("" if sized else unfollowed, inputs),
        weak=_weakness(tensor, spread),
    )


def _documented(tensor: TensorClass, judge: Judge) -> Device | None:
    """The judge's device as far as it goes for a tensor: reductions alone have a documented order."""
    device = judge.device
    if device is None or device.order is None or tensor.cause not in _UNORDERED:
        return device
    return replace(device, order=None)


def _inputs_of(tensor: TensorClass, case: Case) -> list[CaseInput]:
    """The inputs that a tensor is made of, as far as it is known; else all that may be."""
    if not tensor.formula:
        return all_tensors(case.inputs)
    named = [input_at(case, step[2]) for step in tensor.formula if step[0] == "input"]
    return all_tensors([given for given in named if given is not None])


def _holds_no_numbers(tensor: TensorClass, inputs: Sequence[CaseInput]) -> bool:
    """Whether an input without numbers reaches every element; one that is chosen among others may not."""
    return bool(tensor.formula) and not chooses(tensor.formula) and any(map(holds_no_numbers, inputs))


def _doubt(step: str, inputs: Sequence[CaseInput]) -> str:
    if step:
        return f"no error model follows {step}"
    unbounded = next(filter(is_unbounded, inputs), None)
    if unbounded is not None:
        return f"the range of {f'`{unbounded.name}`' if unbounded.name else 'an input'} has no bounds that it covers"
    return ""


def _weakness(tensor: TensorClass, spread: Spread | None) -> str:
    if tensor.cause == "scatter" and "values" in tensor.depends_on:
        return "how many addends meet is decided by the values of an index"
    if spread is None:
        return ""
    from opscan.judging.proven import weakness  # here alone: the hook's usual run has nothing composed

    return weakness(tensor.formula, part_of(tensor.dtype))


def is_averaged(tensor: TensorClass) -> bool:
    """Whether the range of the addends may depend on how many they are."""
    return any(_packet(step.op) in _AVERAGING for step in tensor.path)


def _packet(op: str) -> str:
    """`sum` of `aten.sum.dim_IntList`."""
    parts = op.split(".")
    return parts[1] if len(parts) > 1 else op


def _golden(tensor: TensorClass, packets: Sequence[str], case: Case, judge: Judge, own: bool) -> str:
    """How the golden adds, in the words of `error_model.Addends.golden`. `own`: it is the framework's operator itself;
    one that a plugin computes is taken to keep its sums in float32."""
    if judge.golden != "framework":
        return judge.golden
    if any(part in f"{packet}_" for packet in packets for part in _SHORT):
        return "native" if own and tensor.dtype in ("fp16", "bf16") else "chain"
    adding = _adding(tensor.path)
    return "framework" if adding and _CASCADING.issuperset(adding) and not _is_scattered(tensor, case) else "chain"


def _adding(path: Sequence[Step]) -> list[str]:
    """The packets that sum, and not merely carry on what was summed before them."""
    found: list[str] = []
    most = 1
    for step in path:
        if step.numeric_class in _REDUCED and (not found or step.extent > most):
            found.append(_packet(step.op))
            most = step.extent
    return found


def _is_scattered(tensor: TensorClass, case: Case) -> bool:
    """Whether axes that are not neighbours were reduced: the sum runs over short stretches, one after the other."""
    shapes = [given.shape or () for given in all_tensors(case.inputs)]
    rank = max(map(len, shapes), default=0)
    full = [max(sizes) for sizes in zip(*[(1,) * (rank - len(shape)) + shape for shape in shapes], strict=True)]
    summed = sorted({axis % rank for axis in _named_axes(case)}) if rank else []
    if tensor.cause == "broadcast":
        own = (1,) * (rank - len(tensor.shape)) + tensor.shape
        summed = [axis for axis, (one, size) in enumerate(zip(own, full, strict=False)) if one < size]
    return any(full[axis] > 1 for axis in range(summed[0], summed[-1]) if axis not in summed) if summed else False


def _named_axes(case: Case) -> tuple[int, ...]:
    """The axes that an attribute names, where it names several."""
    for given in case.inputs:
        if given.name in ("dim", "axis", "dims") and given.shape is None:
            axes = [one.values for one in given.members] if given.members else given.values
            if isinstance(axes, (list, tuple)) and all(isinstance(axis, int) for axis in axes):
                return tuple(axes)
    return ()


def _runs_as_hf32(packets: Sequence[str], judge: Judge) -> bool:
    kinds = {"convolution" if "conv" in packet else "matmul" for packet in packets if packet in _MULTIPLYING - {"mul"}}
    return bool(kinds.intersection(judge.hf32))


def _roundings(tensor: TensorClass) -> int:
    """Calls that round on the way; in float32 a function that is approximated to two ULP counts twice."""
    calls = sum(step.numeric_class is NumericClass.ARITHMETIC for step in tensor.path)
    least = 2 if tensor.dtype in ("fp32", "hf32", "fp64") else 1
    return min(max(calls, least), _MOST_ROUNDINGS)


def _spreads_averages(packet: str) -> bool:
    """Whether a packet adds up parts of the gradients of averages."""
    return "avg_pool" in packet and packet.endswith("_backward")


def _roundings_of_addends(tensor: TensorClass, packets: Sequence[str], averages: bool, own: bool) -> int:
    """How often an addend is rounded on its way, the sum included. The framework's own product over an axis rounds
    factor by factor, and its cross product each of the products, in the format of the output."""
    if tensor.dtype in ("fp16", "bf16") and _AVERAGING.issuperset(packets):
        return 1  # summed and divided in float32, rounded once
    if averages and (own or not any(map(_spreads_averages, packets))):
        return 2
    if own and any("prod" in packet for packet in packets):
        return min(max(tensor.extent, 2), _MOST_ROUNDINGS)
    return 2 if own and any("cross" in packet for packet in packets) else 1


def _addend_range(tensor: TensorClass, case: Case, judge: Judge, products: bool) -> tuple[float, float, str]:
    """Outputs add up inputs; gradients add up the upstream gradient, or products of it with inputs."""
    inputs = input_range(case)
    if tensor.role == "output":
        return inputs or (*judge.upstream, "uniform")
    if not products or inputs is None:
        return (*judge.upstream, "uniform")
    size = math.sqrt(max(map(abs, judge.upstream)) * max(abs(inputs[0]), abs(inputs[1])))
    return (-size, size, "uniform")


def what_decides(case: Case) -> tuple[Any, ...]:
    """What the parameters of a case depend on besides its compared tensors: dtypes, ranges, thin and named axes."""
    tensors = all_tensors(case.inputs)
    thin = thin_axes([given.shape or () for given in tensors])
    return tuple([(given.dtype, repr(given.values), given.outliers) for given in tensors]), thin, _named_axes(case)


def thin_axes(shapes: Sequence[Sequence[int]]) -> tuple[tuple[bool, ...], ...]:
    """Which axes have one element: all that the golden's order of addition depends on of shapes that meet."""
    return tuple([tuple([size == 1 for size in sizes]) for sizes in shapes])


def dtypes_of(case: Case) -> frozenset[str]:
    """The dtypes of the tensors that a case passes, under the names that compared tensors carry."""
    receiver = (case.tensor_input,) if case.tensor_input else ()
    given = all_tensors((*receiver, *case.method_inputs, *case.inputs))
    return frozenset(compared_dtype(one.dtype or "") for one in given)
