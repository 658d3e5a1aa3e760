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
HEAVY |= {"multiprocessing", "sqlite3", "subprocess", "tempfile", "logging", "hashlib", "unittest", "email", "ssl"}
ELSEWHERE = {
    "opscan.editing": "a spec that fits has nothing to mend",
    "opscan.edits": "nor any edit",
    "opscan.fixing": "only `fix`",
    "opscan.splitting": "only `fix --split`",
    "opscan.explaining": "only `explain`",
    "opscan.validating": "only `validate`",
    "opscan.cli.catalog": "only `catalog`",
    "opscan.cli.explain": "only `explain`",
    "opscan.cli.validate": "only `validate`",
    "opscan.cli.fix": "only `fix`",
    "opscan.running": "only `--run-generators`",
    "opscan.baseline": "only `--baseline`",
    "opscan.judging.exports": "only `--export`, and a user's own rules",
    "opscan.judging.declared": "a user's own rules",
    "opscan.judging.devices": "only `--device`",
    "opscan.judging.consistency": "one spec is consistent with itself",
    "opscan.judging.suppressions": "no comment speaks to opscan",
    "opscan.judging.casefiles": "no case file",
    "opscan.judging.case_tally": "no case file",
    "opscan.reading.cases": "no case file",
    "opscan.reading.case_values": "no case file",
    "opscan.reading.case_spans": "no case file",
    "opscan.reading.json_stream": "no case file",
    "opscan.reading.comments": "no comment speaks to opscan",
    "opscan.reading.plugins": "no plugin",
    "opscan.reading.scripts": "no run script",
    "opscan.shapes.generator": "no plugin",
    "opscan.pyread.evaluator": "no plugin",
    "opscan.numerics.operators": "nothing is called",
    "opscan.numerics.classify": "nothing is traced",
    "opscan.numerics.tracing": "nothing is traced",
    "opscan.workers.pool": "nothing is traced",
    "opscan.numerics.transfer.reductions": "no sum",
    "opscan.numerics.transfer.contractions": "no product",
    "opscan.numerics.transfer.scatters": "no index",
    "opscan.numerics.transfer.windows": "no window",
    "opscan.numerics.transfer.norms": "no norm",
    "opscan.numerics.transfer.fused": "no kernel that is judged whole",
    "opscan.reporting.full_format": "another format",
    "opscan.reporting.json_format": "another format",
}
"""What the hook's usual run, a spec that fits, must not import, and why it need not."""
UNUSED = {"shutil", "bz2", "lzma", "zlib", "string", "unicodedata", "shlex", "tomllib"}
"""Modules of the standard library that it can do without, unless the libraries below bring them along."""
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


def test_a_declared_operator_is_told_without_torch_from_the_first_run_on(tmp_path: Path) -> None:
    spec = tmp_path / "project" / "1000" / "torch.relu.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text(SPEC)
    loaded = modules_of_a_run(spec)
    assert HEAVY & loaded == set()
    packages = {".".join(name.split(".")[:depth]) for name in loaded for depth in range(1, 6)}
    assert {name: ELSEWHERE[name] for name in ELSEWHERE.keys() & packages} == {}
    probe = "import sys, click, yaml, random, json, dataclasses; print('\\n'.join(sys.modules), file=sys.stderr)"
    libraries = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert UNUSED & loaded <= set(libraries.stderr.splitlines())


def test_the_answers_that_are_kept_are_looked_for_where_no_steps_tell(tmp_path: Path) -> None:
    spec = tmp_path / "torch.svd_lowrank.yaml"
    spec.write_text(SPEC.replace("torch.relu", "torch.svd_lowrank"))
    assert "sqlite3" in modules_of_a_run(spec)


def test_a_second_run_imports_nothing_heavy(tmp_path: Path) -> None:
    spec = tmp_path / "torch.svd_lowrank.yaml"
    spec.write_text(SPEC.replace("torch.relu", "torch.svd_lowrank"))
    first = modules_of_a_run(spec)
    assert "opscan.workers.pool" in first
    assert "torch" not in first
    loaded = modules_of_a_run(spec)
    assert HEAVY & loaded <= {"sqlite3"}
    assert not {"opscan.numerics.tracing", "opscan.workers.process", "opscan.numerics.classify"} & loaded
    assert not {
        name for name in loaded if name.startswith(("opscan.validating", "opscan.pyread.evaluator", "opscan.running"))
    }
