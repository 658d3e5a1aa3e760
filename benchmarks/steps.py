"""How fast declared steps answer: the first question to an operator, calls never seen, patterns that repeat.

    python benchmarks/steps.py

The baseline is a trace of the same call on fake tensors, in the same run. Times are processor time of one core.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from opscan.model import Case, CaseInput
from opscan.numerics.classify import classify
from opscan.numerics.declared.answering import declare, plan_of, shapes_of

CALLS = 300
FIRST = """
import time, yaml
from opscan.explaining import case_of
from opscan.numerics.declared.answering import declare
import opscan.numerics.transfer.{families}
case = case_of({name!r}, {inputs!r}, backward=True)
start = time.process_time()
assert declare(case).tensors
print((time.process_time() - start) * 1e3)
"""


def tensor(*shape: int, dtype: str = "fp32") -> CaseInput:
    return CaseInput(None, "tensor", dtype, shape)


OPERATORS: dict[str, Callable[[int], tuple[CaseInput, ...]]] = {
    "torch.where": lambda n: (tensor(n, 64, dtype="bool"), tensor(n, 64), tensor(1, 64)),
    "torch.mul": lambda n: (tensor(n, 64), tensor(1, 64)),
    "torch.matmul": lambda n: (tensor(n, 64), tensor(64, 32)),
    "torch.nn.functional.layer_norm": lambda n: (tensor(n, 64), CaseInput(None, "attr", "int", values=[64])),
}

FIRST_INPUTS = {
    "torch.where": ["condition=bool[8,64]", "input=fp32[8,64]", "other=fp32[1,64]"],
    "torch.mul": ["input=fp32[8,64]", "other=fp32[1,64]"],
    "torch.matmul": ["input=fp32[8,64]", "other=fp32[64,32]"],
    "torch.nn.functional.layer_norm": ["input=fp32[8,64]", "normalized_shape=[64]"],
}
FAMILIES = "copies, opscan.numerics.transfer.norms, opscan.numerics.transfer.contractions"


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def first_question(name: str) -> float:
    """Milliseconds until a fresh process, its modules loaded, has the first answer to an operator; the least of 5."""
    code = FIRST.format(families=FAMILIES, name=name, inputs=FIRST_INPUTS[name])
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    for name, inputs in OPERATORS.items():
        cases = [Case(0, 0, name, inputs(size), backward=True) for size in range(2, CALLS + 2)]
        known = declare(cases[0])
        plan = plan_of(cases[0])
        assert known is not None
        assert plan is not None
        classify(cases[0])
        shapes = [shapes_of(case) for case in cases]
        traced = seconds(lambda cases=cases: [classify(case) for case in cases])
        fresh = seconds(lambda plan=plan, shapes=shapes: [plan.classify(one) for one in shapes])
        repeated = seconds(lambda plan=plan, shapes=shapes: [plan.classify(one) for one in shapes * 100]) / 100
        count = len(known.tensors) * CALLS
        print(
            f"{name:32} traced {traced / CALLS * 1e3:6.2f} ms a call (baseline)"
            f"   new shapes {fresh / CALLS * 1e3:6.3f} ms, {fresh / traced:6.4f} times"
            f"   repeated {count / repeated:12,.0f} tensors a second, {repeated / traced:8.6f} times"
            f"   first question {first_question(name):5.1f} ms"
        )


if __name__ == "__main__":
    main()
