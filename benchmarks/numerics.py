"""How fast classes come: traced on fake tensors, remembered on disk, against running the operator on real tensors.

    python benchmarks/numerics.py

The baseline is one real forward and backward of the same call at the same shapes.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import torch

from opscan.model import Case, CaseInput
from opscan.numerics import Classifier, Store
from opscan.numerics.classify import classify

ROWS = 256


def tensor(*shape: int) -> CaseInput:
    return CaseInput(None, "tensor", "fp32", shape)


CASES: dict[str, Callable[[int], tuple[CaseInput, ...]]] = {
    "torch.mul": lambda n: (tensor(n, 64), tensor(1, 64)),
    "torch.matmul": lambda n: (tensor(n, 64), tensor(64, 32)),
    "torch.nn.functional.linear": lambda n: (tensor(n, 64), tensor(16, 64), tensor(16)),
    "torch.logsumexp": lambda n: (tensor(n, 64), CaseInput(None, "attr", "int", None, 1)),
}


def per_call(run: Callable[[int], object], count: int) -> float:
    run(1)
    start = time.perf_counter()
    for size in range(2, count + 2):
        run(size)
    return (time.perf_counter() - start) / count


def real(name: str, size: int) -> None:
    function = {"torch.nn.functional.linear": torch.nn.functional.linear}.get(name) or getattr(torch, name[6:])
    given = [
        torch.randn(entry.shape, requires_grad=True) if entry.shape is not None else entry.values
        for entry in CASES[name](size)
    ]
    function(*given).sum().backward()


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, inputs in CASES.items():
            cases = [Case(0, 0, name, inputs(size), backward=True) for size in range(ROWS + 2)]
            ran = per_call(lambda size, name=name: real(name, size), ROWS)
            traced = per_call(lambda size, cases=cases: classify(cases[size]), ROWS)
            first = Classifier(Store(Path(folder, name)))
            for case in cases:
                first.classify(case)
            first.close()
            known = Classifier(Store(Path(folder, name)))
            remembered = per_call(lambda size, cases=cases, known=known: known.classify(cases[size]), ROWS)
            print(
                f"{name:28} real {ran * 1e3:6.2f} ms (baseline)"
                f"   traced {traced * 1e3:6.2f} ms, {traced / ran:5.1f} times"
                f"   remembered {remembered * 1e3:6.3f} ms, {remembered / ran:5.2f} times"
            )


if __name__ == "__main__":
    main()
