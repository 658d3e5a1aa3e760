"""Predicted false alarms of composed operators against stochastic emulation: a score per family of formulas.

A cell is one compared tensor of one call under one standard. Two sets are scored apart: the calls of `composed.yaml`,
which the model was tuned on, and calls held out, drawn by a seed from PyTorch's operator database (`held_out.py`).

Where emulation sees between 0.1 and 50 % of the draws fail, the prediction should be within a factor of 3 of it; where
it sees none, not above 1 %, or what so many draws can exclude. The count of failing draws has an uncertainty of its
own: the interval that holds the true rate with 95 % (Clopper and Pearson) is allowed for. Cells with ten failing draws
or more are also scored without it. `--all` names every cell that is off.

    python -m benchmarks.composed [--draws 100] [--rows 180] [--seed 2] [--only NAME] [--set tuned|held-out] [--write]

`--rows` calls are held out; 180 take about ten minutes of one core. `--keep FILE` keeps what was emulated, so that a
changed prediction is scored in a minute or two.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks import held_out
from benchmarks.pages import put_into_page
from opscan.emulating.rates import Draws, failures
from opscan.judging import Judge
from opscan.judging.drifts.families import family_of
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
"""rtol, atol and the share that may fail, beside single_bm, of the calls that the model was tuned on."""
_FACTOR = 3.0
_GOAL, _QUIET = 0.95, 0.01
_MANY = 10
_ELEMENTS = 1 << 20
PAGE = Path(__file__).parents[1] / "docs" / "standards.md"
PROVEN = Path(__file__).parents[1] / "rules" / "families.yaml"
_KINDS = {bool: "bool", int: "int", float: "float", str: "string", list: "int"}
_ROUNDING = (NumericClass.ARITHMETIC, NumericClass.BROADCAST_REDUCED, NumericClass.ACCUMULATED)
_HEADER = (
    "| family | cells | of those where 0.1 to 50 % fail, within 3 | with ten failing draws, within 3 as they are "
    "| at most 1 % where none fails | above 17 % where more than half fail |\n|---|---|---|---|---|---|"
)


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
        least, most = interval(self.failed, self.draws)
        if not self.failed:
            return self.predicted <= max(_QUIET, most)
        return least / _FACTOR <= self.predicted <= most * _FACTOR

    @property
    def fits_as_counted(self) -> bool:
        return self.emulated / _FACTOR <= self.predicted <= self.emulated * _FACTOR

    def __str__(self) -> str:
        return (
            f"{self.family:24}{self.name:38}{self.dtype:5}{self.tensor:14}{self.standard:22}"
            f"predicted {100 * self.predicted:6.2f} %  emulated {100 * self.emulated:6.2f} %"
        )


def interval(failed: int, draws: int) -> tuple[float, float]:
    """Where the true rate lies with 95 % certainty (Clopper and Pearson 1934)."""

    def at_most(rate: float, count: int) -> float:
        return math.fsum(math.comb(draws, k) * rate**k * (1 - rate) ** (draws - k) for k in range(count + 1))

    def crossing(count: int, part: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if at_most(middle, count) > part else (low, middle)
        return low

    return (
        crossing(failed - 1, 0.975) if failed else 0.0,
        crossing(failed, 0.025) if failed < draws else 1.0,
    )


def standards(dtype: str, steps: Sequence[tuple[float, float, float]] = ()) -> dict[str, Any]:
    """What is written under `standard.acc`, by a short name."""
    found: dict[str, Any] = {"single_bm": "single_bm"}
    for rtol, atol, share in steps or _STEPS[dtype]:
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


class Emulated:
    """How many draws of a case fail, emulated once and kept in a file if one is given."""

    def __init__(self, draws: Draws, kept: Path | None = None) -> None:
        self.draws, self._kept = draws, kept
        self._known: dict[str, Any] = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}

    def failures(self, case: Case, rules: dict[str, list[Rule]]) -> dict[str, list[int]]:
        """Raises Refused."""
        key = hashlib.sha256(repr((case, sorted(rules.items()), self.draws)).encode()).hexdigest()[:24]
        if key not in self._known:
            try:
                self._known[key] = failures(calls_of(case), rules, self.draws)
            except Refused as problem:
                self._known[key] = str(problem)
            if self._kept is not None:
                self._kept.write_text(json.dumps(self._known))
        found: dict[str, list[int]] | str = self._known[key]
        if isinstance(found, str):
            raise Refused(found)
        return found


def cells(case: Case, dtype: str, written: dict[str, Any], emulated: Emulated) -> Iterator[Cell]:
    """Raises Refused."""
    known = classify(case)
    if max([math.prod(tensor.shape) for tensor in known.tensors], default=0) > _ELEMENTS:
        raise Refused("too large to be emulated so often")
    predicted: dict[tuple[str, str], tuple[str, float, bool]] = {}
    rules: dict[str, list[Rule]] = {}
    for name, acc in written.items():
        for verdict in judge_case(case, known, acc, JUDGE).tensors:
            tensor, parameters = verdict.tensor, verdict.parameters
            if tensor.numeric_class not in _ROUNDING or tensor.dtype not in _STEPS or parameters is None:
                continue
            followed = family_of(tensor.formula, tensor.dtype)
            modelled = bool(followed) and not parameters.doubt and "index" not in parameters.weak
            predicted[tensor.name, name] = followed, verdict.failure, modelled
            rule = effective(acc, tensor.dtype, JUDGE.atk_version).rule
            if rule is not None:
                rules.setdefault(tensor.name, []).append(rule)
    if not rules:
        return
    short = (case.name or "").removeprefix("torch.")
    for tensor_name, counts in emulated.failures(case, rules).items():
        for name, failed in zip(written, counts, strict=True):
            family, rate, proven = predicted[tensor_name, name]
            yield Cell(family, short, tensor_name, dtype, name, rate, failed, emulated.draws.count, proven)


@dataclass(frozen=True)
class Score:
    """Of the cells of a family that a model follows."""

    cells: int
    counting: int
    within: int
    many: int
    within_as_counted: int
    silent: int
    quiet: int
    loud: int
    heard: int

    @staticmethod
    def of(found: Sequence[Cell]) -> Score:
        proven = [cell for cell in found if cell.proven]
        counting, silent = [cell for cell in proven if cell.counts], [cell for cell in proven if not cell.failed]
        many, loud = [c for c in counting if c.failed >= _MANY], [c for c in proven if c.emulated > 0.5]
        return Score(
            len(found),
            len(counting),
            sum(cell.fits for cell in counting),
            len(many),
            sum(cell.fits_as_counted for cell in many),
            len(silent),
            sum(cell.fits for cell in silent),
            len(loud),
            sum(cell.predicted >= 0.5 / _FACTOR for cell in loud),
        )

    @property
    def text(self) -> str:
        return " | ".join(
            [
                str(self.cells),
                f"{self.within} of {self.counting}",
                f"{self.within_as_counted} of {self.many}",
                f"{self.quiet} of {self.silent}",
                f"{self.heard} of {self.loud}",
            ]
        )

    @property
    def meets_the_goal(self) -> bool:
        """Whether the cells bear predictions out: enough of those that fail, and all of those that do not."""
        return (
            bool(self.counting and self.silent) and self.within >= _GOAL * self.counting and self.quiet == self.silent
        )


def tuned(only: str, emulated: Emulated) -> Iterator[Cell]:
    table = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    for row in [row for rows in table.values() for row in rows if only in row["name"]]:
        for dtype in row.get("dtypes", ["fp32"]):
            try:
                yield from cells(case_of(row, dtype), dtype, standards(dtype), emulated)
            except Refused as problem:
                print(f"{row['name']} {dtype} refused: {problem}", file=sys.stderr)


def drawn(only: str, emulated: Emulated, count: int, seed: int) -> Iterator[Cell]:
    """Cells of `count` calls that were held out; calls that nothing can be said of are passed over."""
    for row in held_out.rows(seed):
        if count <= 0:
            return
        if only not in row.name:
            continue
        for inputs in row.ways:
            try:
                found = list(
                    cells(
                        Case(0, 0, row.name, inputs, backward=True),
                        row.dtype,
                        standards(row.dtype, row.tolerances),
                        emulated,
                    )
                )
            except Refused:
                continue
            if found:
                count -= 1
            yield from found
            break


def by_family(found: Sequence[Cell]) -> dict[str, list[Cell]]:
    families: dict[str, list[Cell]] = {}
    for cell in found:
        families.setdefault(cell.family or "no formula", []).append(cell)
    return dict(sorted(families.items()))


def table(found: Sequence[Cell]) -> str:
    lines = [f"| {family} | {Score.of(some).text} |" for family, some in by_family(found).items()]
    return "\n".join([_HEADER, *lines, f"| all | {Score.of(found).text} |"])


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--draws", type=int, default=100)
    ask.add_argument("--rows", type=int, default=180, help="calls that are held out")
    ask.add_argument("--seed", type=int, default=2, help="which calls are held out")
    ask.add_argument("--only", default="")
    ask.add_argument("--set", choices=("tuned", "held-out"), help="one of the two sets alone")
    ask.add_argument("--all", action="store_true", help="name every cell that is off")
    ask.add_argument("--keep", type=Path, help="a file of what was emulated, read and added to")
    ask.add_argument(
        "--write", action="store_true", help="put the tables into docs/standards.md and rules/families.yaml"
    )
    options = ask.parse_args()
    emulated = Emulated(Draws(options.draws, JUDGE.upstream), options.keep)
    sets: dict[str, list[Cell]] = {}
    if options.set != "tuned":
        sets["held out"] = list(drawn(options.only, emulated, options.rows, options.seed))
    if options.set != "held-out":
        sets["tuned on"] = list(tuned(options.only, emulated))
    told = []
    for name, found in sets.items():
        off = [cell for cell in found if cell.proven and (cell.counts or not cell.failed) and not cell.fits]
        told.append(f"Calls {name}, {options.draws} draws a cell:\n\n{table(found)}")
        print(told[-1], flush=True)
        for cell in off if options.all else ():
            print(f"  off  {cell}", flush=True)
        names = sorted({f"{cell.name} {cell.tensor} ({cell.dtype})" for cell in off})
        told.append(f"Off: {', '.join(names)}." if names else "")
    if options.write:
        put_into_page(PAGE, "composed", "\n\n".join(filter(None, told)))
        PROVEN.write_text(families(sets["held out"], options), encoding="utf-8")


def families(found: Sequence[Cell], options: argparse.Namespace) -> str:
    """The text of `rules/families.yaml`."""
    lines = [
        "# For which families of formulas predicted false alarms are proven against emulation; findings of the rest",
        "# are warnings and their edits unsafe. Written by `python -m benchmarks.composed --write`, from calls held",
        f"# out (seed {options.seed}, {options.rows} calls, {options.draws} draws a cell). Proven: of the cells of",
        f"# which 0.1 to 50 % fail (`counting`) at least {_GOAL:.0%} are predicted within a factor of {_FACTOR:g},",
        f"# and no cell of which none fails (`silent`) above {_QUIET:.0%}.",
        "families:",
    ]
    for family, cells_of_it in by_family(found).items():
        score = Score.of(cells_of_it)
        if score.counting or score.silent:
            figures = (
                f"counting: {score.counting}, within: {score.within}, silent: {score.silent}, quiet: {score.quiet}"
            )
            lines.append(f"  {family!r}: {{{figures}, proven: {str(score.meets_the_goal).lower()}}}".replace("'", '"'))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
