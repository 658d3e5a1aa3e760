"""Runs the code of plugins, only where `--run-generators` asks for it, each in a process that is shut in.

`evidence_by_run` gives the shapes that a generator makes; `draw_case_fields` the cases as ATK writes them.
"""

from opscan.running.evidence import evidence_by_run, run_generator
from opscan.running.messages import Bounds

__all__ = ["Bounds", "evidence_by_run", "run_generator"]
