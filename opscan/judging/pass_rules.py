"""Pass rules with their numbers, and what is measured of two arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from opscan.dataclass import dataclass
from opscan.judging.floating import FORMATS, part_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PASS_RULES: dict[str, tuple[str, ...]] = {
    "value-equal": (),
    "bit-equal": (),
    "mean-and-max-relative": ("mean", "peak", "floor"),
    "share-within-tolerance": ("rtol", "atol", "share", "max_abs", "max_ulp"),
    "ratio-to-benchmark": ("floor",),
    "small-value-count": ("small", "small_error"),
    "absolute-step": ("atol",),
    "ks-test": (),
    "repeat-bitwise": (),
    "absolute-threshold": ("rtol", "small", "small_error"),
    "ulp-count": ("max_ulp", "share"),
    "unit-floor": ("rtol",),
    "either-tolerance": ("rtol", "atol", "share"),
}
"""Every pass rule, and the thresholds it needs per dtype."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pass rule for outputs of one dtype, with its thresholds.

    `share`: the share of elements that may be out of tolerance. `max_abs`, `max_ulp`: no element may break both.
    `mean`, `peak`: the mean and the maximum of |a-g| / (|g| + floor) must stay below them. `small`: golden values up to
    it are judged apart, by `small_error`. `ratios`: of maximum, mean and root mean square to those of a benchmark,
    whose errors count as at least `floor`; `small_ratio`: of the counts of wrong small values. `balance`: bound of the
    mean of (a-g) / max(|g|, 1).
    """

    passes: str
    dtype: str
    rtol: float = 0.0
    atol: float = 0.0
    share: float = 0.0
    max_abs: float = math.inf
    max_ulp: float = math.inf
    mean: float = math.inf
    peak: float = math.inf
    floor: float = 0.0
    small: float = 0.0
    small_error: float = math.inf
    ratios: tuple[float, float, float] = (10.0, 2.0, 2.0)
    small_ratio: float = 2.0
    balance: float = math.inf

    @property
    def exact(self) -> bool:
        """No difference at all may remain."""
        return self.passes in ("value-equal", "bit-equal") or (
            self.passes == "share-within-tolerance" and self.rtol == 0 == self.atol and self.share == 0
        )

    def __str__(self) -> str:
        if self.passes == "share-within-tolerance":
            text = f"|a-g| <= {self.atol:g} + {self.rtol:g}|g| on {100 * (1 - self.share):g} % of the elements"
            return text + ("" if math.isinf(self.max_abs) else f", none above {self.max_abs:g} or {self.max_ulp:g} ULP")
        if self.passes == "mean-and-max-relative":
            return f"mean relative error < {self.mean:g}, maximum < {self.peak:g}"
        if self.passes == "absolute-step":
            return f"|a-g| <= {self.atol:g}"
        return self.passes


def allowed_failures(share: float, count: int) -> int:
    """How many of `count` elements may fail where a share may; the slack undoes the rounding of the product."""
    return int(share * count + 1e-9 * max(1.0, share * count))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a pass rule says. `worst` is the largest absolute difference, inf where one side is NaN or Inf."""

    passed: bool
    share_failing: float
    worst: float
    detail: str


def same_bits(actual: NDArray[Any], golden: NDArray[Any]) -> Verdict:
    import numpy as np

    width = actual.dtype.itemsize
    left = np.ascontiguousarray(actual).reshape(-1).view(np.uint8).reshape(-1, width)
    right = np.ascontiguousarray(golden).reshape(-1).view(np.uint8).reshape(-1, width)
    return counted((left != right).any(axis=1), difference(actual, golden), "differ in bits")


def spacing(size: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """The unit in the last place of non-negative values in a format: 2^(exponent - fraction), subnormals included."""
    import numpy as np

    form = FORMATS[part_of(dtype)]
    exponent = np.frexp(size)[1] - 1
    exponent = np.maximum(np.where(size == 0, form.least, exponent), form.least)
    return np.asarray(np.ldexp(1.0, exponent - form.fraction), dtype=np.float64)


def difference(actual: NDArray[Any], golden: NDArray[Any]) -> NDArray[np.float64]:
    """|a - g| in double precision; equal infinities differ by 0, NaN against anything by inf."""
    import numpy as np

    wide = np.complex128 if actual.dtype.kind == "c" or golden.dtype.kind == "c" else np.float64
    if actual.dtype.kind in "iub" and golden.dtype.kind in "iub":
        below = np.minimum(actual, golden)
        return np.asarray((np.maximum(actual, golden).astype(object) - below.astype(object)), dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(actual.astype(wide) - golden.astype(wide))
    return np.asarray(np.where(actual == golden, 0.0, np.where(np.isnan(gap), np.inf, gap)), dtype=np.float64)


def counted(failing: NDArray[Any], difference: NDArray[np.float64], what: str) -> Verdict:
    import numpy as np

    count = int(np.count_nonzero(failing))
    worst = float(difference.max()) if difference.size else 0.0
    share = count / failing.size if failing.size else 0.0
    return Verdict(count == 0, share, worst, f"{count} of {failing.size} {what}")
