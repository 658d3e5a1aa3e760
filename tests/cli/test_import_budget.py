"""What a clean run of the hook must not import. Times are for benchmarks; names are for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SPEC = """\
name: torch.relu
standard: {acc: equal}
inputs:
  - name: input
    type: tensor
    dtypes: {values: [fp32]}
    shapes: {dim_numbers: {values: [2]}, dim_values: {values: [4]}}
"""
HEAVY = {"torch", "libcst", "jinja2", "rich", "numpy", "asyncio", "importlib.metadata", "concurrent.futures", "difflib"}
PROBE = """
import sys
from pathlib import Path
from opscan.cli import cli
cli.main(["audit", sys.argv[1]], standalone_mode=False)
print("\\n".join(sys.modules), file=sys.stderr)
"""


def modules_of_a_run(spec: Path) -> set[str]:
    environment = os.environ | {"XDG_CACHE_HOME": str(spec.parent / "cache"), "OPSCAN_CACHE": "on"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(spec)], env=environment, capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines())


def test_an_operator_with_a_path_is_told_without_torch_from_the_first_run_on(tmp_path: Path) -> None:
    spec = tmp_path / "torch.relu.yaml"
    spec.write_text(SPEC)
    assert not (HEAVY | {"opscan.numerics.workers", "opscan.numerics.transfer"}) & modules_of_a_run(spec)


def test_a_second_run_imports_nothing_heavy(tmp_path: Path) -> None:
    spec = tmp_path / "torch.unique.yaml"
    spec.write_text(SPEC.replace("torch.relu", "torch.unique"))
    first = modules_of_a_run(spec)
    assert "opscan.numerics.workers" in first
    assert "torch" not in first
    loaded = modules_of_a_run(spec)
    assert not HEAVY & loaded
    assert not {"opscan.numerics.workers", "opscan.numerics.process", "opscan.numerics.classify"} & loaded
    assert not {
        name for name in loaded if name.startswith(("opscan.validating", "opscan.shapes.evaluator", "opscan.running"))
    }
