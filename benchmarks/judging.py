"""Judging a case file, with adequacy, against reading it.

    python benchmarks/judging.py [CASES]

The file is made up: broadcast gradients and sums over many shapes, ranges and dtypes. Classes are given, so that only
the reading of the text and the judging of the cases are compared; reading is the baseline. Both in
processor time.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from opscan import reading
from opscan.judging.casefiles import judge_case_file
from opscan.judging.settings import Judge
from opscan.model import Case, CaseFile, Classification, NumericClass, Step, TensorClass

ATK_NAMES = {"fp32": "fp32", "fp16": "fp16", "bf16": "bf16"}
RANGES = ([-5, 5], [-1, 1], [0, 1], [-100, 100], [1e-5, 1e-4], [-1000, 1000])


def case_text(index: int, rng: random.Random) -> dict[str, object]:
    dtype = rng.choice(list(ATK_NAMES))
    rows, columns = 2 ** rng.randrange(0, 12), rng.choice((3, 4, 8, 16, 100, 256, 1000))
    span = rng.choice(RANGES)

    def tensor(name: str, shape: list[int]) -> dict[str, object]:
        return {
            "name": name, "type": "tensor", "required": True, "dtype": dtype, "format": "ND", "shape": shape,
            "range_values": span, "backward": True,
        }  # fmt: skip

    return {
        "id": index, "name": "torch.mul", "api": "pytorch", "api_type": "function", "aclnn_name": "Mul",
        "expect": {"error_msg": None}, "backward": True, "standard": {"acc": "mixed_tolerance_bm", "perf": "not_key"},
        "inputs": [tensor("input", [rows, columns]), tensor("other", [1, columns])],
    }  # fmt: skip


def classify(case: Case) -> Classification:
    """What tracing a broadcast multiplication says, without tracing it."""
    first, second = (given.shape or () for given in case.inputs)
    dtype = case.inputs[0].dtype or "fp32"
    step = Step("aten.sum.dim_IntList", "backward", NumericClass.BROADCAST_REDUCED, first[0])
    rounds = Step("aten.mul.Tensor", "backward", NumericClass.ARITHMETIC)
    once = NumericClass.ARITHMETIC
    summed = TensorClass("grad:other", "gradient", dtype, second, NumericClass.BROADCAST_REDUCED, 1, cause="broadcast",
                         extent=first[0], products=True, path=(rounds, step))  # fmt: skip
    return Classification(
        (
            TensorClass("output:0", "output", dtype, first, once, correctly_rounded=True),
            TensorClass("grad:input", "gradient", dtype, first, once, 0, correctly_rounded=True, path=(rounds,)),
            summed,
        ),
        "golden",
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "all_torch.mul.json")
        path.write_text(json.dumps([case_text(index, rng) for index in range(count)], indent=2), encoding="utf-8")
        size = path.stat().st_size / 1e6
        start = time.process_time()
        read = reading.read_file(path)
        took = time.process_time() - start
    if not isinstance(read, CaseFile) or len(read.cases) != count:
        raise SystemExit(f"the case file was not read: {read}")
    known = {}
    for case in read.cases:
        key = (case.inputs[0].shape, case.inputs[0].dtype)
        known[key] = known.get(key) or classify(case)
    start = time.process_time()
    judged = judge_case_file(
        read,
        "all_torch.mul.json",
        ("accuracy",),
        lambda cases: [known[case.inputs[0].shape, case.inputs[0].dtype] for case in cases],
        Judge("26.8.8", (-5.0, 5.0), 0.01),
    )
    spent = time.process_time() - start
    print(f"read    {count} cases ({size:.0f} MB) in {took:6.2f} s (baseline)")
    print(f"judged  {count} cases with adequacy in {spent:6.2f} s, {spent / took:.2f} times; {judged.report.verdicts}")


if __name__ == "__main__":
    main()
