"""Case files of any size: reading and judging, memory, and edits, against a parser, the file and a copy.

    python benchmarks/cases.py --mebibytes 100

Writes case files in ATK's format, one in which shapes are drawn anew for every case and one that repeats 200 patterns,
and prints ratios to baselines of the same run: the fastest JSON parser that is installed (orjson, else the standard
library's) on the same bytes, the size of the file, and a copy of the file that is as durable as what opscan writes.
Seconds are those of the processor in opscan's own process, on one core; shapes that must be traced, which takes other
processes, show in the seconds of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATTERNS = 200
SIZES = (1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 100, 128, 257, 512)


def case(number: int, draw: random.Random) -> dict[str, Any]:
    """One case of the backward of `torch.add`; in half of them `other` is broadcast."""
    shape = [draw.choice(SIZES) * draw.randint(1, 3) for _ in range(draw.randint(1, 4))]
    other = [1 if draw.random() < 0.5 else size for size in shape] if draw.random() < 0.5 else shape
    dtype = draw.choice(("fp32", "fp16", "bf16"))
    return {
        "id": number,
        "name": "torch.add",
        "aclnn_name": "aclnnAdd",
        "api": "pytorch",
        "api_type": "function",
        "backward": True,
        "standard": {"acc": draw.choice(("equal", "equal", "default")), "perf": "not_key"},
        "outputs": None,
        "inputs": [_tensor("input", dtype, shape), _tensor("other", dtype, other)],
        "is_boundary": False,
        "save_name": f"torch_add_{number}",
        "default_seed": draw.randint(0, 1 << 31),
    }


def _tensor(name: str, dtype: str, shape: list[int]) -> dict[str, Any]:
    return {
        "name": name,
        "type": "tensor",
        "required": True,
        "dtype": dtype,
        "shape": shape,
        "range_values": [-5, 5],
        "format": "ND",
        "backward": True,
        "align_32B": None,
        "outlier_values": None,
    }


def cases(patterns: int | None) -> Iterator[dict[str, Any]]:
    """Endless cases; with `patterns` only so many that differ in more than their number."""
    draw = random.Random(20)
    known: list[dict[str, Any]] = []
    number = 0
    while True:
        if patterns is None or len(known) < patterns:
            made = case(number, draw)
            known += [made] if patterns is not None else []
        else:
            made = {**known[number % patterns], "id": number, "save_name": f"torch_add_{number}"}
        yield made
        number += 1


def write_cases(path: Path, size: int, patterns: int | None) -> int:
    """Write cases until the file has `size` bytes; returns how many they are."""
    written = number = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, made in enumerate(cases(patterns), 1):
            text = json.dumps(made, indent=1).replace("\n", "\n ")
            written += file.write(("[\n " if number == 1 else ",\n ") + text)
            if written >= size:
                break
        file.write("\n]\n")
    return number


def parse(path: Path) -> None:
    """What every reader of the file pays at least."""
    data = path.read_bytes()
    try:
        import orjson
    except ImportError:
        json.loads(data.decode("utf-8"))
    else:
        orjson.loads(data)


def audit(path: Path) -> None:
    from opscan.audit import audit_paths
    from opscan.config import Settings

    audit_paths([path], Settings())


def audit_spec(path: Path) -> None:
    """Audit a spec whose cases are those of the file, as it stands beside it."""
    from opscan.data import data_path

    spec = path.with_name(f"{path.stem.removeprefix('all_')}.yaml")
    shutil.copyfile(data_path("catalog", "1000", spec.name), spec)
    audit(spec)
    spec.unlink()


def fix(path: Path) -> None:
    """Judge a copy of the file and write every edit into it."""
    from opscan.audit import audit_paths
    from opscan.config import Settings
    from opscan.fixing import plan_fixes, write_fixes

    other = path.with_suffix(".fixed.json")
    shutil.copyfile(path, other)
    plan = plan_fixes(audit_paths([other], Settings()), unsafe=True)
    assert not write_fixes(plan).problems
    other.unlink()
    print(sum(change.edits for change in plan.changes))


def idle(path: Path) -> None:
    """The imports of an audit and nothing else."""
    from opscan.audit import audit_paths
    from opscan.judging.casefiles import judge_case_file

    for used in (audit_paths, judge_case_file, path):
        assert used


def edit(path: Path) -> None:
    """Change the standard of the case in the middle of the file, verified and on disk; prints the seconds it took."""
    from opscan import editing, reading
    from opscan.model import CaseFile

    file = reading.read_file(path)
    assert isinstance(file, CaseFile)
    middle = len(file.cases) // 2
    start = time.perf_counter()
    place = reading.locate(file, [middle])[middle]
    wanted = editing.replace_case_acc(middle, {"mixed_tolerance_bm": {"fp32_rtol": random.random()}}, place)
    assert not isinstance(wanted, str)
    edited = editing.apply_edits(file.source, [wanted])
    assert edited.applied
    editing.write_atomically(path, file.source, edited.text)
    print(time.perf_counter() - start)


def copy(path: Path) -> None:
    """A durable copy; prints the seconds it took."""
    start = time.perf_counter()
    other = path.with_suffix(".copy")
    shutil.copyfile(path, other)
    with other.open("rb") as file:
        os.fsync(file.fileno())
    print(time.perf_counter() - start)
    other.unlink()


STEPS: dict[str, Callable[[Path], None]] = {
    "parse": parse,
    "audit": audit,
    "spec": audit_spec,
    "fix": fix,
    "idle": idle,
    "edit": edit,
    "copy": copy,
}


def step(name: str, path: Path) -> dict[str, float]:
    """Processor seconds, peak resident bytes and what it printed, of one step in a process of its own on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    before, started = time.process_time(), time.perf_counter()
    STEPS[name](path)
    used, passed = time.process_time() - before, time.perf_counter() - started
    return {"seconds": used, "clock": passed, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def run(name: str, path: Path, runs: int = 1) -> dict[str, float]:
    """The best of several runs of one step."""
    found: list[dict[str, float]] = []
    for _ in range(runs):
        command = [sys.executable, __file__, "--step", name, str(path)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
        found.append(json.loads(out[-2]) | ({"printed": float(out[0])} if len(out) > 2 else {}))
    return {key: min(one[key] for one in found) for key in found[0]}


def measure(title: str, path: Path, count: int) -> None:
    size = path.stat().st_size
    print(f"{title}: {size / 2**20:.1f} MiB, {count} cases")
    bare, parsed, audited = run("idle", path), run("parse", path, 3), run("audit", path, 2)
    spec, fixed = run("spec", path), run("fix", path)
    print(f"  {'parse (baseline)':26} {parsed['seconds']:7.2f} s  1.00")
    steps = (("read and judge", audited), ("the spec beside it", spec), (f"fix, {fixed['printed']:.0f} edits", fixed))
    for name, used in steps:
        ratio = (used["seconds"] - bare["seconds"]) / parsed["seconds"]
        print(f"  {name:26} {used['seconds']:7.2f} s {ratio:5.2f}  (without imports; clock {used['clock']:.1f} s)")
    for name, used in (("imports alone", bare), ("parse", parsed), *steps):
        print(f"  peak memory, {name:18} {used['peak'] / 2**20:7.1f} MiB {used['peak'] / size:5.2f} of the file")


def measure_edit(path: Path) -> None:
    copied, edited = run("copy", path, 3)["printed"], run("edit", path, 3)["printed"]
    print(f"  {'copy (baseline)':26} {copied:7.3f} s  1.00")
    print(f"  {'one edit':26} {edited:7.3f} s {edited / copied:5.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mebibytes", type=float, default=10, help="size of each file (default 10)")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("path", nargs="?", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.step:
        print(json.dumps(step(chosen.step, chosen.path)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "all_torch.add_backward.json")
        for title, patterns in (("shapes drawn anew", None), (f"{PATTERNS} patterns", PATTERNS)):
            count = write_cases(path, int(chosen.mebibytes * 2**20), patterns)
            measure(title, path, count)
        measure_edit(path)


if __name__ == "__main__":
    main()
