"""How long the hook's usual run takes: one spec whose operator is known, against a bare interpreter.

    python benchmarks/start_up.py

Prints the minimum wall time of each command and its ratio to the baseline `python -c pass` of the same run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

CATALOG = Path(__file__).resolve().parents[1] / "catalog"
COMMANDS = {
    "opscan --version": ["-m", "opscan", "--version"],
    "audit, a spec that fits": ["-m", "opscan", "audit", str(CATALOG / "1000" / "torch.where.yaml")],
    "audit, 94 cases and a finding": ["-m", "opscan", "audit", str(CATALOG / "1000" / "torch.where_backward.yaml")],
    "import torch": ["-c", "import torch"],
}


def fastest(arguments: list[str], runs: int, environment: dict[str, str]) -> float:
    """Minimum wall seconds of `runs` runs, after one that fills the caches."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    import os

    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        bare = fastest(["-c", "pass"], 9, environment)
        print(f"{'python -c pass (baseline)':32} {bare * 1e3:8.1f} ms   1.0")
        for name, arguments in COMMANDS.items():
            took = fastest(arguments, 5, environment)
            print(f"{name:32} {took * 1e3:8.1f} ms {took / bare:5.1f}")


if __name__ == "__main__":
    main()
