"""The error model against emulated sums: predicted and emulated failure rates, cell by cell.

    python benchmarks/adequacy.py            # about two minutes on one core
    python benchmarks/adequacy.py --full     # five times the elements; about twenty minutes
    python benchmarks/adequacy.py --write    # puts the figures and the plot into docs/

A cell is a dtype, a distribution, an extent, a number of outputs, a rule, an order of the kernel and one of the golden.
The share of failing elements in a pool of outputs gives its emulated rate, for elements are independent; for a mean or
a maximum, cases cut from the pool do. Cells count whose emulated rate lies between 0.1 % and 50 % and rests on ten
failing elements for each that makes a difference.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from kernels import CALIBRATED, F32, Drawn, contracted, exact, framework, orders, rounded
from numpy.typing import NDArray
from pages import put_into_page

from opscan.judging import orders as fans
from opscan.judging.adequacy import failure_probability
from opscan.judging.deciding import passes
from opscan.judging.derived import derive
from opscan.judging.drift_parameters import DriftParameters
from opscan.judging.pass_rules import Rule, allowed_failures, spacing
from opscan.judging.recommend import choose
from opscan.judging.settings import Judge
from opscan.judging.standards import load_standards
from reports import plot, report

DOCS = Path(__file__).resolve().parents[1] / "docs"
JUDGE = Judge("26.8.8", (-5.0, 5.0), 0.01)
EXTENTS = (1, 2, 3, 8, 16, 64, 256, 1024, 4096, 16384, 65536)
OUTPUTS = (1, 8, 64, 512, 4096, 32768, 100_000)
LEAST, MOST, FACTOR = 0.001, 0.5, 3.0
FEWEST = 10
"""Failing elements that a measured share must rest on."""
CASES = 300

SPREADS = (
    Drawn("uniform", -1, 1),
    Drawn("uniform", -5, 5),
    Drawn("uniform", -100, 100),
    Drawn("uniform", 0, 1),
    Drawn("uniform", -1e-4, 1e-4),
    Drawn("normal", -1, 1),
    Drawn("normal", 2.5, 3.5),
    Drawn("masked", -5, 5),
    Drawn("product", -5, 5),
)
RULES = {
    "fp32": (
        "double-ten-thousandth",
        "double-thousandth",
        "double-ten-thousandth-relative",
        "double-thousandth-relative",
        "single-benchmark",
        "mixed-tolerance",
    ),
    "fp16": ("value-equal", "double-thousandth", "double-thousandth-relative"),
    "bf16": ("value-equal", "double-thousandth", "double-hundredth-relative"),
    "hf32": ("double-thousandth", "double-thousandth-relative"),
}
FANS = {
    "pairs": fans.tree,
    "chain": fans.chain,
    "chain, permuted": fans.chain,
    "chain, reversed": fans.chain,
    "8 lanes": lambda n: fans.lanes(n, 8),
    "24 lanes": lambda n: fans.lanes(n, 24),
    "64 lanes": lambda n: fans.lanes(n, 64),
    "256 lanes": lambda n: fans.lanes(n, 256),
    "96 lanes, chained": lambda n: (max(n / 96, 1.0), min(96.0, n)),
    "tiles of 100, tree": lambda n: fans.tiles(n, 100, by="tree"),
    "tiles of 256, chained": lambda n: fans.tiles(n, 256),
    "tiles of 3000, chained": lambda n: fans.tiles(n, 3000),
    "tiles of 4096, chained": lambda n: fans.tiles(n, 4096),
    "32 parts, as they come": lambda n: (max(n / 32, 1.0), min(32.0, n)),
    "blocks of 16, chained": lambda n: (*fans.tree(16), max(n / 16, 1.0)),
    "threes": lambda n: fans.tree(n, 3),
    "folded": fans.tree,
    "PyTorch": fans.cascade,
}
"""The fans of every emulated order (opscan/judging/orders.py)."""


@dataclass(frozen=True)
class Cell:
    """One prediction and what was emulated for it. `order` is "worst" for the worst of all legitimate ones."""

    dtype: str
    drawn: Drawn
    extent: int
    outputs: int
    rule: str
    order: str
    golden: str
    emulated: float
    predicted: float

    @property
    def off(self) -> float:
        """How far the prediction is from what was emulated, as a factor of at least 1."""
        low, high = sorted((max(self.predicted, 1e-12), self.emulated))
        return high / low

    @property
    def held_out(self) -> bool:
        return self.order not in CALIBRATED

    def __str__(self) -> str:
        return (
            f"{self.dtype} {self.drawn} n={self.extent} R={self.outputs} {self.rule} {self.order}/{self.golden}: "
            f"emulated {self.emulated:.3g}, predicted {self.predicted:.3g}"
        )


@dataclass(frozen=True)
class Pool:
    """Outputs of every order on the same addends, and the goldens."""

    dtype: str
    drawn: Drawn
    extent: int
    outputs: dict[str, F32]
    goldens: dict[str, F32]

    @property
    def options(self) -> dict[str, object]:
        kind = "normal" if self.drawn.kind == "normal" else "uniform"
        return {
            "distribution": kind,
            "products": self.drawn.kind == "product" or self.dtype == "hf32",
            "density": 0.5 if self.drawn.kind == "masked" else 1.0,
        }


_AT_ONCE = 16_000_000


def draw(dtype: str, drawn: Drawn, extent: int, count: int, rng: np.random.Generator) -> Pool:
    """A pool of `count` outputs, drawn piece by piece where its addends would fill the memory."""
    most = max(1, _AT_ONCE // extent)
    sizes = [most] * (count // most) + ([count % most] if count % most else [])
    pieces = [_piece(dtype, drawn, extent, size, rng) for size in sizes]
    outputs = {name: np.concatenate([piece.outputs[name] for piece in pieces]) for name in pieces[0].outputs}
    goldens = {name: np.concatenate([piece.goldens[name] for piece in pieces]) for name in pieces[0].goldens}
    return replace(pieces[0], outputs=outputs, goldens=goldens)


def _piece(dtype: str, drawn: Drawn, extent: int, count: int, rng: np.random.Generator) -> Pool:
    stored = "fp32" if dtype == "hf32" else dtype
    if dtype == "hf32" or drawn.kind == "product":
        factors = [replace(drawn, kind="uniform").addends(rng, (extent, count), stored) for _ in range(2)]
        short = [shortened(values) for values in factors] if dtype == "hf32" else factors
        addends = short[0] * short[1]
        own = rounded(contracted(*factors), stored)
        true: F32 | NDArray[np.float64] = factors[0].astype(np.float64) * factors[1]
    else:
        addends = true = drawn.addends(rng, (extent, count), dtype)
        own = rounded(framework(addends), stored)
    outputs = {name: rounded(kernel(addends), stored) for name, kernel in orders(extent).items()}
    goldens = {"framework": own, "exact": rounded(exact(true), stored)}
    return Pool(dtype, drawn, extent, outputs, goldens)


def shortened(values: F32) -> F32:
    """The nearest values with the 11 fraction bits of HF32."""
    bits = values.view(np.uint32)
    return ((bits + np.uint32(0x800)) & np.uint32(0xFFFFF000)).view(np.float32)


def pools(full: bool, rng: np.random.Generator) -> Iterator[Pool]:
    for dtype in RULES:
        spreads = {"fp32": SPREADS, "hf32": (SPREADS[1], SPREADS[3])}.get(dtype, (SPREADS[1], SPREADS[3], SPREADS[8]))
        short = EXTENTS[4:10] if full else EXTENTS[6:9]
        extents = EXTENTS if dtype == "fp32" else short if dtype != "hf32" else EXTENTS if full else EXTENTS[2:8:2]
        for drawn in spreads:
            for extent in extents:
                if drawn.kind == "product" and dtype == "fp16" and extent > 1024:
                    continue  # the results leave the range of fp16
                yield draw(dtype, drawn, extent, _pool_size(dtype, extent, full), rng)


def _pool_size(dtype: str, extent: int, full: bool) -> int:
    """Outputs of a pool. Short formats hardly ever differ, and long sums leave few outputs: both need more addends."""
    if dtype in ("fp16", "bf16"):
        return min(1_000_000, (128_000_000 if full else 64_000_000) // extent)
    scale = 5 if full else 1
    return min(100_000, (16_000_000 if extent > 4096 else 4_000_000) // extent) * scale


def rules_of(pool: Pool) -> dict[str, Rule]:
    """The named rules of a dtype, and derived thresholds made so tight that correct kernels fail them now and then."""
    known = load_standards()
    found = {name: rule for name in RULES[pool.dtype] if (rule := known.rule(name, pool.dtype)) is not None}
    options = pool.options
    parameters = DriftParameters(
        pool.dtype, pool.extent, 1000, pool.drawn.low, pool.drawn.high, str(options["distribution"]),
        bool(options["products"]), 1, True,
    )  # fmt: skip
    derived = derive(pool.dtype, [parameters], 0.01)
    if derived is not None and pool.extent > 2 and pool.dtype in ("fp32", "hf32"):
        for part in (0.15, 0.3):
            tight = replace(derived.rule, atol=part * derived.rule.atol, share=0.0, max_abs=math.inf, max_ulp=math.inf)
            found[f"{part:g} of derived"] = tight
    if derived is not None and pool.extent > 2 and derived.rule.max_ulp < 32:
        for share in (1e-4, 1e-3):
            found[f"derived, share {share:g}"] = replace(derived.rule, share=share)
    return found


def failing(rule: Rule, output: F32, golden: F32, cases: int) -> NDArray[np.bool_]:
    """Which of so many cases fail: what `passes` says, for all of them at once."""
    gap, size = np.abs(output.astype(np.float64) - golden), np.abs(golden.astype(np.float64))
    if rule.passes == "mean-and-max-relative":
        relative = (gap / (size + rule.floor)).reshape(cases, -1)
        return np.asarray((relative.mean(1) >= rule.mean) | (relative.max(1) >= rule.peak))
    bad = (gap > rule.atol + rule.rtol * size).reshape(cases, -1)
    beyond = _beyond(rule, gap, size).reshape(cases, -1)
    return np.asarray((bad.sum(1) > allowed_failures(rule.share, bad.shape[1])) | beyond.any(1))


def emulated(rule: Rule, output: F32, golden: F32) -> Iterator[tuple[int, float]]:
    """(outputs, share of cases of so many outputs that fail), as far as the pool can tell."""
    if rule.passes == "mean-and-max-relative":
        for outputs in OUTPUTS:
            cases = output.size // outputs
            used = cases * outputs
            found = failing(rule, output[:used], golden[:used], cases) if cases >= 200 else np.zeros(1, bool)
            if found.sum() >= FEWEST:
                yield outputs, float(found.mean())
        return
    gap, size = np.abs(output.astype(np.float64) - golden), np.abs(golden.astype(np.float64))
    bad, beyond = (gap > rule.atol + rule.rtol * size).mean(), float(_beyond(rule, gap, size).mean())
    for outputs in OUTPUTS:
        allowed = allowed_failures(rule.share, outputs)
        # The more elements may fail, the steeper the rate depends on the share.
        if (bad + beyond) * gap.size < FEWEST * (1 + allowed):
            continue
        share = binomial_tail(allowed, outputs, bad)
        yield outputs, 1 - (1 - share) * (1 - beyond) ** outputs


def _beyond(rule: Rule, gap: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.bool_]:
    if math.isinf(rule.max_abs):
        return np.zeros(gap.shape, bool)
    return (gap > rule.max_abs) & (gap > rule.max_ulp * spacing(size, rule.dtype))


def binomial_tail(allowed: int, count: int, share: float) -> float:
    """P(more than `allowed` of `count` elements fail)."""
    from scipy.stats import binom

    return float(binom.sf(allowed, count, share))


def scored(pool: Pool) -> Iterator[Cell]:
    """Every cell of a pool whose rate is not trivial: each order against each golden, and the worst of all."""
    for name, rule in rules_of(pool).items():
        worst: dict[tuple[int, str], float] = {}
        for order, output in pool.outputs.items():
            for golden_name, golden in pool.goldens.items():
                if order == "PyTorch" and golden_name == "framework" and pool.dtype != "hf32":
                    continue
                for outputs, rate in emulated(rule, output, golden):
                    key = (outputs, golden_name)
                    worst[key] = max(worst.get(key, 0.0), rate)
                    if LEAST <= rate <= MOST:
                        yield _cell(pool, outputs, name, rule, order, golden_name, rate)
        for (outputs, golden_name), rate in worst.items():
            if LEAST <= rate <= MOST:
                yield _cell(pool, outputs, name, rule, "worst", golden_name, rate)


def _cell(pool: Pool, outputs: int, name: str, rule: Rule, order: str, golden: str, rate: float) -> Cell:
    kernel = None if order == "worst" else FANS[order](pool.extent)
    predicted = predict(rule, pool, outputs, kernel, golden)
    return Cell(pool.dtype, pool.drawn, pool.extent, outputs, name, order, golden, rate, predicted)


def predict(rule: Rule, pool: Pool, outputs: int, kernel: tuple[float, ...] | None, golden: str) -> float:
    spread = pool.drawn
    golden = "chain" if golden == "framework" and pool.options["products"] else golden
    return failure_probability(
        rule, pool.dtype, pool.extent, outputs, spread.low, spread.high, kernel=kernel, golden=golden, **pool.options
    )


# -- what is recommended ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """Emulated cases under what is recommended for them: `failed` is that of the order that fails most."""

    label: str
    standard: str
    cases: int
    failed: int
    predicted: float

    @property
    def upper(self) -> float:
        """The upper end of the one-sided 95 % interval (Clopper-Pearson)."""
        from scipy.stats import beta

        return float(beta.ppf(0.95, self.failed + 1, self.cases - self.failed))


def trials(full: bool, rng: np.random.Generator) -> Iterator[Trial]:
    """At least 300 cases of each kind, in every order against both goldens."""
    sizes = ((3, 512), (16, 4096), (64, 512), (1024, 64), (4096, 8), (65536, 1))
    sizes = (*sizes, (256, 64)) if full else sizes
    for dtype in ("fp32", "fp16", "bf16"):
        for drawn in SPREADS if full else (SPREADS[1], SPREADS[6], SPREADS[8]):
            large = ((64, 8192), (1024, 2048), (4096, 512)) if full and drawn == SPREADS[1] else ()
            for extent, outputs in (*sizes, *large):
                if dtype == "fp16" and (drawn.kind == "product" or drawn.high < 1e-2):
                    continue
                if not full and dtype != "fp32" and extent > 1024:
                    continue
                yield from _tried(dtype, drawn, extent, outputs, rng)


def _tried(dtype: str, drawn: Drawn, extent: int, outputs: int, rng: np.random.Generator) -> Iterator[Trial]:
    options = ("normal" if drawn.kind == "normal" else "uniform", drawn.kind == "product", 1, True)
    golden = "chain" if drawn.kind == "product" else "framework"
    parameters = DriftParameters(dtype, extent, outputs, drawn.low, drawn.high, *options, golden=golden)
    chosen = {option: choose(dtype, [[parameters]], replace(JUDGE, standard=option)) for option in ("auto", "derived")}
    failed: dict[str, dict[str, int]] = {option: {} for option in chosen}
    done, step = 0, max(1, min(CASES, 20_000_000 // (extent * outputs)))
    most = CASES if extent * outputs * CASES > 30_000_000 else 3 * CASES
    while done < CASES or (done < most and any(_undecided(found, done) for found in failed.values())):
        pool = draw(dtype, drawn, extent, step * outputs, rng)
        for option, choice in chosen.items():
            for name, bad in _failing_cases(choice.rule, pool, step).items():
                failed[option][name] = failed[option].get(name, 0) + bad
        done += step
    for option, choice in chosen.items():
        label = f"{option}: {dtype} {drawn} n={extent} R={outputs}"
        yield Trial(label, choice.name, done, max(failed[option].values(), default=0), choice.rate)


def _undecided(failed: dict[str, int], done: int) -> bool:
    return Trial("", "", done, max(failed.values(), default=0), 0.0).upper >= JUDGE.limit


def _failing_cases(rule: Rule | None, pool: Pool, count: int) -> dict[str, int]:
    """The failing cases of a pool, by order and golden."""
    found: dict[str, int] = {}
    for order, output in pool.outputs.items():
        for name, golden in pool.goldens.items():
            if rule is not None:
                bad = failing(rule, output, golden, count)
                if bad[0] == passes(rule, output.reshape(count, -1)[0], golden.reshape(count, -1)[0]).passed:
                    raise AssertionError(f"the evaluator sees the first case of {pool.dtype} {order} otherwise")
                found[f"{order}/{name}"] = int(bad.sum())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="five times the elements")
    parser.add_argument("--write", action="store_true", help="put figures and plot into docs/")
    parser.add_argument("--far", action="store_true", help="list the cells that are far off")
    chosen = parser.parse_args()
    rng = np.random.default_rng(20_260)
    started = time.perf_counter()
    cells: list[Cell] = []
    for number, pool in enumerate(pools(chosen.full, rng), 1):
        cells += scored(pool)
        if number % 20 == 0:
            print(f"{number} pools, {len(cells)} cells, {time.perf_counter() - started:.0f} s", flush=True)
    if chosen.far:
        print(*sorted(str(cell) for cell in cells if cell.off > FACTOR), sep="\n")
    tried: list[Trial] = []
    for trial in trials(chosen.full, rng):
        tried.append(trial)
        if trial.upper >= JUDGE.limit:
            print(f"not shown: {trial.label} {trial.standard}: {trial.failed} of {trial.cases} failed", flush=True)
        if len(tried) % 20 == 0:
            print(f"{len(tried)} kinds of cases, {time.perf_counter() - started:.0f} s", flush=True)
    text = report(cells, tried, tuple(RULES), factor=FACTOR, limit=JUDGE.limit)
    print(text)
    if chosen.write:
        put_into_page(DOCS / "standards.md", "adequacy", text)
        (DOCS / "adequacy.svg").write_text(plot(cells, tuple(RULES), factor=FACTOR) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
