"""What benchmarks/adequacy.py measured, as tables and as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scatter import log_scatter


def report(cells: Sequence[Any], tried: Sequence[Any], dtypes: Sequence[str], *, factor: float, limit: float) -> str:
    """Tables over the cells and one sentence on what is recommended."""
    lines = ["| cells | scored | within a factor of 3 | predicted / emulated, median |", "|---|---|---|---|"]
    groups = {
        "all, by order": [c for c in cells if c.order != "worst"],
        "orders the constants were measured on": [c for c in cells if not c.held_out],
        "orders that were held out": [c for c in cells if c.held_out and c.order != "worst"],
        "the worst legitimate order, which is what an audit predicts": [c for c in cells if c.order == "worst"],
        "named standards, by order": [c for c in cells if c.order != "worst" and "derived" not in c.rule],
        "derived thresholds, tightened until correct kernels fail": [
            c for c in cells if c.order != "worst" and "derived" in c.rule
        ],
        **{f"{dtype}, by order": [c for c in cells if c.dtype == dtype and c.order != "worst"] for dtype in dtypes},
    }
    for name, group in groups.items():
        if group:
            inside = sum(cell.off <= factor for cell in group) / len(group)
            median = float(np.median([cell.predicted / cell.emulated for cell in group]))
            lines.append(f"| {name} | {len(group):,} | {100 * inside:.1f} % | {median:.2f} |")
    total, failed = sum(trial.cases for trial in tried), sum(trial.failed for trial in tried)
    shown = sum(trial.upper < limit for trial in tried)
    lines += [
        "",
        f"What is recommended was tried on {len(tried)} kinds of cases, at least {min(t.cases for t in tried)} cases "
        f"each, in every order against both goldens: of {total:,} cases {failed} failed in the order that fails most; "
        f"in {shown} of {len(tried)} kinds a rate under 1 % is shown with 95 % confidence.",
    ]
    return "\n".join(lines)


def plot(cells: Sequence[Any], dtypes: Sequence[str], *, factor: float) -> str:
    """Predicted against emulated rates."""
    series = {dtype: [(c.emulated, c.predicted) for c in cells if c.dtype == dtype] for dtype in dtypes}
    return log_scatter(
        {name: points for name, points in series.items() if points},
        low=1e-4,
        high=1.0,
        factor=factor,
        across="emulated share of failing cases",
        upwards="predicted",
    )
