"""Which standard catches wrong kernels and passes correct ones? A bank of both, over ranges from 1e-5 to 1e4.

    python benchmarks/power.py             # prints the table
    python benchmarks/power.py --write     # puts it into docs/standards.md

The golden is PyTorch's own sum, emulated. A benchmark rule gets a float32 kernel with 256 lanes as its second
implementation. The standards of the sample catalog count as often as its specs of accumulating operators use them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from composed_kernels import OPERATORS, Composed
from composed_kernels import results as composed_results
from kernels import F32, WRONG, Drawn, exact, framework, in_lanes, orders, rounded
from pages import put_into_page

from opscan.judging.deciding import passes
from opscan.judging.drift_parameters import DriftParameters
from opscan.judging.effective import effective
from opscan.judging.pass_rules import Rule
from opscan.judging.recommend import choose
from opscan.judging.settings import Judge
from opscan.judging.verdicts import judge_case
from opscan.model import Case, CaseInput
from opscan.numerics.classify import classify

PAGE = Path(__file__).resolve().parents[1] / "docs" / "standards.md"
JUDGE = Judge("26.8.8", (-5.0, 5.0), 0.01)
RANGES = tuple(10.0**power for power in range(-5, 5))


@dataclass(frozen=True)
class Cell:
    """One case: what is added, and how much of it."""

    dtype: str
    drawn: Drawn
    extent: int
    outputs: int

    @property
    def parameters(self) -> DriftParameters:
        """What an auditor knows of the case: the range, not the mask."""
        kind = "normal" if self.drawn.kind == "normal" else "uniform"
        product = self.drawn.kind == "product"
        return DriftParameters(
            self.dtype, self.extent, self.outputs, self.drawn.low, self.drawn.high, kind, product, 1, True
        )


ATK_STANDARDS = {
    "ATK 26.8.8 default (mixed_tolerance_bm)": "mixed_tolerance_bm",
    "ATK 26.5.14 default (single_bm)": "single_bm",
    "equal": "equal",
}
Judgement = Callable[[F32, F32, F32], bool]
"""(output, golden, benchmark): does it pass?"""


def by_rule(rule: Rule | None) -> Judgement:
    if rule is None:
        raise ValueError("no rule")
    return lambda a, g, b: passes(rule, a, g, benchmark=b).passed


def _share(dtype: str, rtol: float, atol: float, share: float, limit: float) -> Rule:
    return Rule("share-within-tolerance", dtype, rtol=rtol, atol=atol, share=share, max_abs=limit, max_ulp=32)


def ecosystem_july(dtype: str) -> Rule:
    rows = {"fp32": (2**-10, 2**-16, 1e-2), "fp16": (2**-9, 2**-9, 1e-1), "bf16": (2**-6, 2**-6, 1.0)}
    rtol, atol, limit = rows[dtype]
    return _share(dtype, rtol, atol, 0.01, limit)


def double_benchmark(dtype: str) -> Rule:
    """msprobe from 26.0 on: every float output against a benchmark, at level L0."""
    small = {"fp32": (2**-20, 2**-30), "fp16": (2**-10, 1e-16), "bf16": (2**-10, 1e-16)}[dtype]
    floor = {"fp32": 2**-14, "fp16": 2**-11, "bf16": 2**-8}[dtype]
    return Rule("ratio-to-benchmark", dtype, floor=floor, small=small[0], small_error=small[1])


def absolute(dtype: str) -> Rule:
    rtol, small, error = {
        "fp32": (2**-20, 2**-20, 2**-30), "fp16": (2**-10, 2**-10, 2**-16), "bf16": (2**-8, 2**-10, 1e-16)
    }[dtype]  # fmt: skip
    return Rule("absolute-threshold", dtype, rtol=rtol, small=small, small_error=error)


def by_ulp(dtype: str) -> Rule:
    if dtype == "fp32":
        return Rule("ulp-count", dtype, max_ulp=32, share=0.05, mean=64)
    return Rule("ulp-count", dtype, max_ulp=1, share=0.001, mean=0)


def accumulative(dtype: str) -> Rule:
    bound, balance = {"fp32": (2**-11, 2**-14), "fp16": (2**-8, 2**-20), "bf16": (2**-7, 2**-7)}[dtype]
    return Rule("unit-floor", dtype, rtol=bound, balance=balance)


def constants(dtype: str) -> Rule:
    """The constants of torch_npu's test base: 1e-4, and 1e-3 for 16 bits."""
    prec = 1e-4 if dtype == "fp32" else 1e-3
    return Rule("either-tolerance", dtype, rtol=prec, atol=prec, share=prec)


def relative_thousandth(dtype: str) -> Rule:
    return Rule("share-within-tolerance", dtype, rtol=1e-3, share=1e-3)


def catalog_standards() -> list[tuple[Rule, int]]:
    """The fp32 rules in effect on the accumulating specs of the sample catalog, with how many specs have each."""
    from opscan.audit import audit_paths
    from opscan.config import Settings

    folder = PAGE.parents[1] / "catalog"
    audited = audit_paths([folder / "1000", folder / "0000"], Settings())
    counts: dict[Rule, int] = {}
    for report in audited.audit.files:
        accumulates = any(
            str(tensor.numeric_class) in ("accumulated", "broadcast-reduced") for tensor in report.tensors
        )
        if report.kind != "spec" or not accumulates or "accuracy" not in report.scenarios:
            continue
        rule = effective(report.found, "fp32", "26.8.8").rule
        if rule is not None:
            counts[rule] = counts.get(rule, 0) + 1
    return list(counts.items())


@dataclass
class Score:
    """Wrong kernels caught and correct ones failed, as weights, and which wrong ones pass."""

    caught: float = 0.0
    wrong: float = 0.0
    failed: float = 0.0
    correct: float = 0.0
    missed: dict[str, float] = field(default_factory=dict)

    def add(self, mistake: str | None, passed: bool, weight: float = 1.0) -> None:
        if mistake is None:
            self.correct += weight
            self.failed += 0.0 if passed else weight
            return
        self.wrong += weight
        self.caught += 0.0 if passed else weight
        if passed:
            self.missed[mistake] = self.missed.get(mistake, 0.0) + weight

    @property
    def power(self) -> float:
        return self.caught / self.wrong if self.wrong else 0.0

    @property
    def alarms(self) -> float:
        return self.failed / self.correct if self.correct else 0.0


def cells(small: bool = False) -> Iterator[Cell]:
    """Both signs, one sign, normal, masked and products; short and long sums, few and many outputs."""
    sizes = ((3, 512), (64, 512)) if small else ((3, 4096), (16, 64), (64, 4096), (512, 512), (4096, 256))
    kinds = ("uniform",) if small else ("uniform", "one-signed", "normal", "masked", "product")
    ranges = (1e-5, 1e-2, 1e4) if small else RANGES
    for dtype in ("fp32",) if small else ("fp32", "fp16", "bf16"):
        for kind in kinds:
            for reach in ranges:
                if dtype == "fp16" and (not 1e-3 <= reach <= 1e2 or (kind == "product" and reach > 10)):
                    continue  # beyond what fp16 can hold, or below its normal numbers
                drawn = Drawn("uniform", reach / 10, reach) if kind == "one-signed" else Drawn(kind, -reach, reach)
                for extent, outputs in sizes:
                    yield Cell(dtype, drawn, extent, outputs)


def standards(cell: Cell) -> dict[str, Judgement]:
    rows: dict[str, Judgement] = {}
    for option in ("auto", "named", "derived"):
        chosen = choose(cell.dtype, [[cell.parameters]], replace(JUDGE, standard=option))
        rows[f"opscan --standard {option}"] = by_rule(chosen.rule)
    for name, acc in ATK_STANDARDS.items():
        rows[name] = by_rule(effective(acc, cell.dtype, "26.8.8").rule)
    rows["ecosystem standard of July 2026"] = by_rule(ecosystem_july(cell.dtype))
    rows["msprobe from 26.0 (benchmark ratios)"] = by_rule(double_benchmark(cell.dtype))
    rows["msprobe to 8.3, absolute threshold"] = by_rule(absolute(cell.dtype))
    rows["msprobe to 8.3, ULP"] = by_rule(by_ulp(cell.dtype))
    rows["msprobe to 8.3, thousandth"] = by_rule(relative_thousandth(cell.dtype))
    rows["msprobe to 8.3, accumulative"] = by_rule(accumulative(cell.dtype))
    rows["torch_npu test constants"] = by_rule(constants(cell.dtype))
    return rows


def results(cell: Cell, rng: np.random.Generator) -> Iterator[tuple[str | None, F32, F32, F32]]:
    """(mistake or None, output, golden, benchmark) of every kernel; a wrong one that changes no bit is left out."""
    addends = cell.drawn.addends(rng, (cell.extent, cell.outputs), cell.dtype)
    golden = rounded(framework(addends), cell.dtype)
    benchmark = rounded(in_lanes(256)(addends), cell.dtype)
    correct = [
        rounded(kernel(addends), cell.dtype) for name, kernel in orders(cell.extent).items() if name != "PyTorch"
    ]
    for output in (*correct, rounded(exact(addends), cell.dtype)):
        yield None, output, golden, benchmark
    for mistake, kernel in WRONG.items():
        with np.errstate(over="ignore", invalid="ignore"):
            output = rounded(kernel(addends), cell.dtype)
        if not any(np.array_equal(output, known) for known in (*correct, golden)):
            yield mistake, output, golden, benchmark


def measure(small: bool = False, *, seed: int = 7, progress: bool = False) -> dict[str, Score]:
    """The score of every standard over all cells."""
    rng = np.random.default_rng(seed)
    weights = catalog_standards() if not small else []
    total = sum(count for _, count in weights)
    scores: dict[str, Score] = {}
    started = time.perf_counter()
    todo = list(cells(small))
    for number, cell in enumerate(todo):
        rows = standards(cell)
        for mistake, output, golden, benchmark in results(cell, rng):
            for name, judge in rows.items():
                scores.setdefault(name, Score()).add(mistake, judge(output, golden, benchmark))
            if cell.dtype == "fp32":
                for rule, count in weights:
                    score = scores.setdefault("the sample catalog, as written (fp32)", Score())
                    score.add(mistake, passes(rule, output, golden, benchmark=benchmark).passed, count / total)
        if progress and number % 50 == 49:
            print(f"{number + 1} of {len(todo)} cells, {time.perf_counter() - started:.0f} s", flush=True)
    return scores


@dataclass(frozen=True)
class ComposedCell:
    """One case of a composed operator. Its weights and inputs have one range."""

    dtype: str
    operator: Composed
    low: float
    high: float

    def parameters(self) -> DriftParameters | None:
        """What an auditor knows of the case."""
        tensors = [
            CaseInput(name, "tensor", self.dtype, shape, self._range(name))
            for name, shape in self.operator.inputs.items()
        ]
        attributes = [
            CaseInput(name, "attr", "float" if isinstance(value, float) else "int", values=value)
            for name, value in self.operator.attributes.items()
        ]
        case = Case(0, 0, self.operator.name, (*tensors, *attributes))
        (verdict,) = judge_case(case, classify(case), "single_bm", JUDGE).tensors
        return verdict.parameters

    def _range(self, name: str) -> tuple[float, float]:
        labels = name == "target" and "entropy" in self.operator.name
        return (0.0, 1.0) if labels else (self.low, self.high)

    def drawn(self, rng: np.random.Generator) -> dict[str, F32]:
        return {
            name: rounded(rng.uniform(*self._range(name), shape), self.dtype)
            for name, shape in self.operator.inputs.items()
        }


def composed_cells() -> Iterator[ComposedCell]:
    for dtype in ("fp32", "fp16", "bf16"):
        for operator in OPERATORS:
            for low, high in ((-5.0, 5.0), (-1.0, 1.0), (-0.01, 0.01), (1.0, 5.0), (-30.0, 30.0)):
                yield ComposedCell(dtype, operator, low, high)


_ASKED = ("auto", "named", "derived")


def measure_composed(*, seed: int = 7, draws: int = 3) -> tuple[dict[str, Score], int]:
    """The scores over composed operators, and how many cases were left out because no formula follows them."""
    rng, scores, left = np.random.default_rng(seed), {}, 0
    for cell in composed_cells():
        parameters = cell.parameters()
        if parameters is None or parameters.spread is None:
            left += 1
            continue
        rows: dict[str, Judgement] = {
            f"opscan --standard {asked}": by_rule(
                choose(cell.dtype, [[parameters]], replace(JUDGE, standard=asked)).rule
            )
            for asked in _ASKED
        }
        rows |= {name: by_rule(effective(acc, cell.dtype, "26.8.8").rule) for name, acc in ATK_STANDARDS.items()}
        for _ in range(draws):
            for mistake, output, golden, benchmark in composed_results(cell.operator, cell.drawn(rng), cell.dtype):
                named = mistake and f"{cell.operator.name.rpartition('.')[2]}: {mistake}"
                for name, judge in rows.items():
                    scores.setdefault(name, Score()).add(named, judge(output, golden, benchmark))
    return scores, left


def table(scores: dict[str, Score]) -> str:
    lines = ["| standard | wrong kernels caught | correct kernels failed |", "|---|---|---|"]
    for name, score in sorted(scores.items(), key=lambda item: item[1].alarms - item[1].power):
        lines.append(f"| {name} | {_percent(score.power)} | {_percent(score.alarms)} |")
    return "\n".join(lines)


def missed(score: Score, most: int = 6) -> str:
    """Which wrong kernels pass the recommendation, by how much of all that pass."""
    total = sum(score.missed.values())
    ranked = sorted(score.missed.items(), key=lambda item: -item[1])[:most]
    return "; ".join(f"{name} {100 * count / total:.0f} %" for name, count in ranked)


def _percent(share: float) -> str:
    if not share:
        return "0 %"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--composed", action="store_true", help="the bank of composed operators alone")
    parser.add_argument("--write", action="store_true", help="put the table into docs/standards.md")
    chosen = parser.parse_args()
    if not chosen.composed:
        scores = measure(progress=True)
        show("power", scores, f"{len(list(cells()))} cases", write=chosen.write)
    scores, left = measure_composed()
    told = f"{len(list(composed_cells())) - left} cases of {len(OPERATORS)} operators"
    show("power-composed", scores, told, write=chosen.write)


def show(marker: str, scores: dict[str, Score], cases: str, *, write: bool) -> None:
    ours, text = scores["opscan --standard auto"], table(scores)
    told = f"{ours.wrong:.0f} wrong and {ours.correct:.0f} correct results in {cases}."
    told += f" What passes `--standard auto` all the same: {missed(ours)}."
    print(f"{text}\n\n{told}\n")
    if write:
        put_into_page(PAGE, marker, f"{text}\n\n{told}")


if __name__ == "__main__":
    main()
