"""The process that runs cases: `python -m opscan.validating.worker DEVICE HF32 RULES SECONDS MEBIBYTES FOLDER`.

HF32 and RULES are JSON lists. An operator may crash it, hang it or fill its memory: another one goes on.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscan.validating.experiments import Experiment, dump
from opscan.validating.missing import DeviceMissing
from opscan.workers.serving import serve

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

if TYPE_CHECKING:
    from opscan.validating.devices import Device


def main() -> None:
    name, hf32, rules, *limits = sys.argv[1:]
    try:
        device, problem = _open(name, json.loads(hf32), json.loads(rules)), ""
    except ImportError as missing:
        device, problem = None, str(missing)

    def work(experiment: Experiment | None) -> dict[str, Any]:
        """None asks only whether the device is there."""
        if device is None:
            raise ImportError(problem)
        if experiment is None:
            return {}
        from opscan.validating.trials import Trial

        return dump(Trial(device, experiment).counts())

    serve(work, *limits)


def _open(name: str, hf32: list[str], rules: list[str]) -> Device:
    """Raises ImportError with what is missing."""
    try:
        import torch

        from opscan.validating.devices import open_device
    except ModuleNotFoundError as problem:
        if problem.name not in ("torch", "numpy"):
            raise
        raise ImportError(
            f"validate runs operators and needs {problem.name}, which is not installed: install opscan-ascend[torch]"
        ) from None
    torch.set_num_threads(1)  # the CPU's own order must not depend on how many cores the machine has
    try:
        return open_device(name, hf32, tuple(map(Path, rules)))
    except DeviceMissing as problem:
        raise ImportError(str(problem)) from None


if __name__ == "__main__":
    main()
