"""How fast classes come from the shipped paths, as ratios against tracing again and against parsing the same cases.

    python benchmarks/paths.py

Baselines of the same run: one trace of the same call on fake tensors; `json.loads` and PyYAML's C loader on the cases
as ATK writes them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

os.environ["OPSCAN_CACHE"] = "off"
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import yaml

from opscan.model import Case, CaseInput
from opscan.numerics.foretelling import foretell
from opscan.numerics.paths.shipping import find, load

COUNT = 4000
LOADING = (
    "import time; from opscan.numerics.paths import shipping; s = time.perf_counter(); "
    "shipping.load(shipping.find('torch.where').file); print(time.perf_counter() - s)"
)


def tensor(name: str, *shape: int, dtype: str = "fp32") -> CaseInput:
    return CaseInput(name, "tensor", dtype, shape, [-1, 1])


def cases(count: int) -> list[Case]:
    """Three operators at `count` shapes, with gradients."""
    found = []
    for n in range(2, count + 2):
        where = (tensor("condition", n, 8, dtype="bool"), tensor("input", n, 8), tensor("other", 1, 8))
        add = (tensor("input", n, 16), tensor("other", n, 1))
        linear = (tensor("input", n, 16), tensor("weight", 4, 16), tensor("bias", 4))
        for name, inputs in (("torch.where", where), ("torch.add", add), ("torch.nn.functional.linear", linear)):
            found.append(Case(n, n, name, inputs, backward=True))
    return found


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def written(given: Sequence[Case]) -> str:
    """The cases as ATK writes them."""
    entries = [
        {
            "id": case.id, "name": case.name, "api": "pytorch", "api_type": "function", "backward": True,
            "standard": {"acc": "equal"},
            "inputs": [
                {"name": i.name, "type": i.kind, "required": True, "dtype": i.dtype, "shape": list(i.shape or ()),
                 "range_values": i.values, "backward": True} for i in case.inputs
            ],
        }
        for case in given
    ]  # fmt: skip
    return json.dumps(entries, indent=4)


def fresh() -> float:
    """Milliseconds to load the index and one operator in a process of its own, imports apart; the least of five."""
    command = [sys.executable, "-c", LOADING]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(run.stdout) for run in runs) * 1000


def main() -> None:
    print(f"the index and one operator load in {fresh():.1f} ms")
    for name in ("torch.where", "torch.add", "torch.nn.functional.linear"):
        known = find(name)
        if known is None or known.file is None:
            sys.exit(f"no paths ship for {name}")
        load(known.file)
    given = cases(COUNT)
    answers = [foretell(case) for case in given[:3]]
    told = sum(len(answer.tensors) for answer in answers if answer is not None) * COUNT
    least = min(seconds(lambda: [foretell(case) for case in given]) for _ in range(3))
    print(f"{told / least:,.0f} tensors a second, {least / len(given) * 1e6:.1f} us a case")
    text = written(given[:3000])
    share = least * 3000 / len(given)
    parsed = seconds(lambda: json.loads(text))
    loaded = seconds(lambda: yaml.load(text, yaml.CSafeLoader))
    print(f"{share / parsed:.2f} x the time of json.loads of the same cases")
    print(f"{share / loaded:.3f} x the time of yaml's C loader")
    from opscan.numerics.classify import classify

    classify(given[0])
    traced = seconds(lambda: [classify(case) for case in given[3:153]]) / 150
    print(f"one trace takes {traced * 1000:.1f} ms, {traced / (least / len(given)):,.0f} x a path's time")


if __name__ == "__main__":
    main()
