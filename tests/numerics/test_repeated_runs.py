"""An answer is the same in each process: neither an address nor the seed of a hash has a part in it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("torch")

CALL = [
    "torch.nn.functional.cosine_embedding_loss", "--input", "input1=fp32[2]", "--input", "input2=fp32[2]",
    "--input", "target=fp32[]", "--input", "reduction=sum",
]  # fmt: skip


@pytest.mark.parametrize("steps", ["on", "off"])
def test_each_process_says_the_same(steps: str) -> None:
    def explain(seed: int) -> str:
        told = os.environ | {"OPSCAN_STEPS": steps, "PYTHONHASHSEED": str(seed), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        command = [sys.executable, "-m", "opscan", "explain", *CALL, "--format", "json"]
        return subprocess.run(command, env=told, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(2) as pool:
        answers = set(pool.map(explain, range(8 if steps == "off" else 3)))
    assert len(answers) == 1
