"""Predicted false alarms of composed operators against stochastic emulation: a score per family.

A cell is one compared tensor of one call under one standard. Where emulation sees between 0.1 and 50 % of the draws
fail, the prediction should be within a factor of 3 of it, the count's own uncertainty (two deviations) allowed for;
where it sees none, not above 1 %, or what so many draws can exclude. `--all` names every cell that is off.

python -m benchmarks.composed [--draws 200] [--seed 0] [--only NAME] [--all] [--write]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.pages import put_into_page
from opscan.emulating.rates import Draws, failures
from opscan.judging import Judge
from opscan.judging.effective import effective
from opscan.judging.pass_rules import Rule
from opscan.judging.verdicts import judge_case
from opscan.model import Case, CaseInput, NumericClass
from opscan.numerics.classify import classify
from opscan.validating.running import Refused, calls_of

JUDGE = Judge("26.8.8", (-5.0, 5.0), 0.01)
_STEPS = {
    "fp32": ((1e-4, 1e-4, 1e-4), (1e-5, 1e-5, 1e-4), (1e-5, 1e-6, 0.01)),
    "fp16": ((1e-3, 1e-3, 1e-3), (1e-4, 1e-4, 0.01)),
    "bf16": ((1e-2, 1e-2, 1e-3), (1e-3, 1e-3, 0.01)),
}
"""rtol, atol and the share that may fail, beside single_bm."""
_FACTOR = 3.0
PAGE = Path(__file__).parents[1] / "docs" / "standards.md"
_KINDS = {bool: "bool", int: "int", float: "float", str: "string", list: "int"}


@dataclass(frozen=True)
class Cell:
    family: str
    name: str
    tensor: str
    dtype: str
    standard: str
    predicted: float
    failed: int
    draws: int
    proven: bool

    @property
    def emulated(self) -> float:
        return self.failed / self.draws

    @property
    def counts(self) -> bool:
        """Whether the rate lies where a factor says something."""
        return 0.001 <= self.emulated <= 0.5

    @property
    def fits(self) -> bool:
        if not self.failed:
            return self.predicted <= max(0.01, 3 / self.draws)
        spread = 2 * math.sqrt(self.failed)
        least, most = max(self.failed - spread, 0) / self.draws, (self.failed + spread) / self.draws
        return least / _FACTOR <= self.predicted <= most * _FACTOR

    def __str__(self) -> str:
        return (
            f"{self.family:15}{self.name:38}{self.dtype:5}{self.tensor:14}{self.standard:22}"
            f"predicted {100 * self.predicted:6.2f} %  emulated {100 * self.emulated:6.2f} %"
        )


def standards(dtype: str) -> dict[str, Any]:
    """What is written under `standard.acc`, by a short name."""
    found: dict[str, Any] = {"single_bm": "single_bm"}
    for rtol, atol, share in _STEPS[dtype]:
        row = {"rtol": rtol, "atol": atol, "required_matched_ratio": 1 - share}
        found[f"{rtol:g}/{atol:g}/{share:g}"] = {"mixed_tolerance_bm": {f"{dtype}_{key}": v for key, v in row.items()}}
    return found


def case_of(row: dict[str, Any], dtype: str) -> Case:
    return Case(0, 0, row["name"], tuple(_input(*item, dtype) for item in row["inputs"].items()), backward=True)


def _input(name: str, value: Any, dtype: str) -> CaseInput:
    if isinstance(value, dict):
        low, high = value.get("range", (-5, 5))
        return CaseInput(name, "tensor", dtype, tuple(value["shape"]), (low, high), value.get("backward", True))
    return CaseInput(name, "attr", _KINDS[type(value)], values=tuple(value) if isinstance(value, list) else value)


def cells(family: str, row: dict[str, Any], dtype: str, draws: Draws) -> Iterator[Cell]:
    """Raises Refused."""
    case = case_of(row, dtype)
    known = classify(case)
    written = standards(dtype)
    predicted: dict[tuple[str, str], tuple[float, bool]] = {}
    rules: dict[str, list[Rule]] = {}
    for name, acc in written.items():
        for verdict in judge_case(case, known, acc, JUDGE).tensors:
            tensor, load = verdict.tensor, verdict.load
            if tensor.numeric_class is NumericClass.SELECT_ONLY or tensor.dtype not in _STEPS or load is None:
                continue
            predicted[tensor.name, name] = verdict.failure, not load.unproven
            rule = effective(acc, tensor.dtype, JUDGE.atk_version).rule
            if rule is not None:
                rules.setdefault(tensor.name, []).append(rule)
    for tensor_name, counts in failures(calls_of(case), rules, draws).items():
        for name, failed in zip(written, counts, strict=True):
            rate, proven = predicted[tensor_name, name]
            yield Cell(
                family, row["name"].removeprefix("torch."), tensor_name, dtype, name, rate, failed, draws.count, proven
            )


def scored(family: str, found: Sequence[Cell]) -> str:
    """A row of the table; cells without a model are left out."""
    proven = [cell for cell in found if cell.proven]
    counting, silent = [cell for cell in proven if cell.counts], [cell for cell in proven if not cell.failed]
    within, quiet = sum(cell.fits for cell in counting), sum(cell.fits for cell in silent)
    return f"| {family} | {len(found)} | {within} of {len(counting)} | {quiet} of {len(silent)} |"


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--draws", type=int, default=200)
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--only", default="")
    ask.add_argument("--all", action="store_true", help="name every cell that is off")
    ask.add_argument("--write", action="store_true", help="put the table into docs/standards.md")
    options = ask.parse_args()
    table = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    lines = [
        "| family | cells | within 3 of those where 0.1 to 50 % fail | at most 1 % where none fails |",
        "|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    total: list[Cell] = []
    for family, rows in table.items():
        found: list[Cell] = []
        for row in rows:
            for dtype in row.get("dtypes", ["fp32"]) if options.only in row["name"] else ():
                try:
                    found += cells(family, row, dtype, Draws(options.draws, JUDGE.upstream, options.seed))
                except Refused as problem:
                    print(f"{row['name']} {dtype} refused: {problem}", file=sys.stderr)
        if not found:
            continue
        total += found
        lines.append(scored(family, found))
        print(lines[-1], flush=True)
        for cell in found if options.all else ():
            if not cell.fits and (cell.counts or not cell.failed):
                print(f"  {'off' if cell.proven else 'no model'}  {cell}", flush=True)
    lines.append(scored("all", total))
    print(lines[-1])
    if options.write:
        off = [cell for cell in total if cell.proven and cell.counts and not cell.fits]
        names = sorted({f"{cell.name} {cell.tensor} ({cell.dtype})" for cell in off})
        told = f"{options.draws} draws a cell, seed {options.seed}. Off: {', '.join(names)}." if names else ""
        put_into_page(PAGE, "composed", "\n".join([*lines, "", told]))


if __name__ == "__main__":
    main()
