"""Hold the kinds table against the oracles over PyTorch's whole operator database and print the confusion counts.

    python -m tests.numerics.sweep [--samples N] [--dtypes float32 float16 bfloat16] [--only REGEX] [--json FILE]

Rows are opscan's classes, columns what the oracles saw. `exact`: never rounded; `once`: the float64 result rounded
once; `rounds`: other roundings; `order`: the order of accumulation shows; `unseen`: no oracle could look.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
from numerics_claims import claims_of, contradiction
from numerics_held_out import held_out
from numerics_samples import of_database

from opscan.checking.comparing import is_explained
from opscan.checking.examining import OutOfTime, limit
from opscan.checking.truths import observe

ROWS = ("select", "select+values", "once", "arithmetic", "accumulated", "random", "unknown")
COLUMNS = ("exact", "once", "rounds", "order", "random", "unseen")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--dtypes", nargs="+", default=["float32", "float16", "bfloat16"])
    parser.add_argument("--only", default="")
    parser.add_argument("--fan", type=int, default=40, help="most elements that are perturbed one at a time")
    parser.add_argument("--seconds", type=float, default=10, help="limit per sample")
    parser.add_argument("--held-out", action="store_true", help="the shapes and attributes of numerics_samples instead")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    importlib.import_module("torch._dynamo")  # torch imports it at its first use: no limit may cut that short
    started, rows, skipped = time.monotonic(), [], Counter()  # type: ignore[var-annotated]
    for dtype in options.dtypes:
        kind = getattr(torch, dtype)
        subjects = held_out(kind) if options.held_out else of_database(kind, options.samples, only=options.only)
        for what in subjects:
            if not re.search(options.only, what.name):
                continue
            try:
                with limit(options.seconds):
                    truths = observe(what, fan_limit=options.fan if dtype == "float32" else 0)
                    claims = claims_of(what)
            except OutOfTime:
                skipped[f"{what.name}: out of time"] += 1
                continue
            except Exception as problem:
                skipped[f"{what.name}: {type(problem).__name__} {str(problem).splitlines()[:1]}"] += 1
                continue
            rows += [_row(what, dtype, name, claims[name], truth) for name, truth in truths.items() if name in claims]
    report(rows, skipped, time.monotonic() - started)
    if options.json:
        options.json.write_text(json.dumps(rows), encoding="utf-8")
    return 1 if any(row["contradiction"] and not row["explained"] for row in rows) else 0


def _row(what: Any, dtype: str, name: str, claim: Any, truth: Any) -> dict[str, Any]:
    found = contradiction(claim, truth)
    return {
        "operator": what.name, "label": what.label, "dtype": dtype, "tensor": name, "claim": claim.row,
        "truth": truth.column if truth.floating or truth.column != "unseen" else "exact", "numel": truth.numel,
        "extent": claim.extent, "depends": sorted(claim.depends), "contradiction": found, "path": list(claim.path),
        "fan": truth.fan, "moved": truth.moved, "blind": truth.blind,
        "explained": bool(found) and is_explained(found, what.name),
    }  # fmt: skip


def report(rows: list[dict[str, Any]], skipped: Counter[str], seconds: float) -> None:
    live = [row for row in rows if row["numel"]]
    counts = Counter((row["claim"], row["truth"]) for row in live)
    print(f"{len(live)} tensors, {len({row['operator'] for row in live})} operators, {seconds:.0f} s")
    print(f"{'':14}" + "".join(f"{column:>9}" for column in COLUMNS))
    for row in ROWS:
        print(f"{row:14}" + "".join(f"{counts[row, column]:9}" for column in COLUMNS))
    kinds = Counter(
        (row["contradiction"], row["operator"]) for row in live if row["contradiction"] and not row["explained"]
    )
    for (found, operator), count in sorted(kinds.items()):
        print(f"CONTRADICTED {count:4} {operator}: {found}")
    explained = Counter(row["contradiction"] for row in live if row["explained"])
    for found, count in explained.items():
        print(f"explained {count}: {found}")
    _report_over_calls([row for row in live if row["truth"] == "exact" and row["claim"] != "random"])
    blind = Counter(row["operator"] for row in live if row["blind"])
    print(f"order oracle blind: {sum(blind.values())}: {blind.most_common(20)}")
    print(f"skipped: {sum(skipped.values())}: {skipped.most_common(30)}")


def _report_over_calls(exact: list[dict[str, Any]]) -> None:
    """Tolerances where bits could have been asked for, as a share of the tensors that were never rounded here."""
    for claim in ("accumulated", "arithmetic"):
        over = [row for row in exact if row["claim"] == claim]
        certain = [row for row in over if "values" not in row["depends"]]
        print(
            f"over-called, {claim} though exact: {len(over)} of {len(exact)} ({len(over) / max(len(exact), 1):.1%}); "
            f"{len(over) - len(certain)} of these say that values decide"
        )
        print(f"  {Counter(row['operator'] for row in certain).most_common(30)}")


if __name__ == "__main__":
    raise SystemExit(main())
