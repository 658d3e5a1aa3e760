"""Examine calls in a process of its own, since some of them take the process along.

Each line on standard input is a task as JSON; the answer is a line with the number of each call before it is examined
and one with what came of it, then an empty line.
"""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

import faulthandler
import importlib
import json
import sys
from dataclasses import asdict
from random import Random
from typing import Any

import torch

from opscan.checking.calls import line_of
from opscan.checking.drawing import draw
from opscan.checking.examining import examine
from opscan.checking.naming import parameters_of

_GRACE = 5
"""How many times its limit a call may take before the process is ended from outside of Python."""


def main() -> None:
    torch.set_num_threads(1)
    importlib.import_module("torch._dynamo")  # torch imports it at its first use: no limit may cut that short
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an operator prints must not look like an answer
    print(file=answers, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        for number in range(task["start"], task["stop"]):
            print(number, file=answers, flush=True)
            faulthandler.dump_traceback_later(_GRACE * task["seconds"], exit=True)
            answer = json.dumps(_examined(task, number))
            faulthandler.cancel_dump_traceback_later()
            print(answer, file=answers, flush=True)
        print(file=answers, flush=True)


def _examined(task: dict[str, Any], number: int) -> dict[str, Any]:
    call = draw(task["base"], number, task["seed"])
    if call is None:
        return {"outcome": "undrawn", "remarks": []}
    random = Random(f"{task['seed']}/{task['base']}/{number}/oracles")
    oracles = random.random() < task["share"]
    found = asdict(examine(call, random.randrange(1 << 16), oracles=oracles, seconds=task["seconds"]))
    if found["remarks"] or found["outcome"] == "out-of-time":
        found["line"] = line_of(call, parameters_of(call.name))
    return found


if __name__ == "__main__":
    main()
