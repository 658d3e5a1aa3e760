"""The process that traces for an audit: `python -m opscan.numerics.worker SECONDS MEBIBYTES FOLDER`.

An operator may crash it, hang it or fill its memory: the audit then starts another.
"""

from __future__ import annotations

import sys
from typing import Any

from opscan.numerics.messages import OUT_OF_MEMORY, Question
from opscan.numerics.store import dump
from opscan.workers.serving import serve


def main() -> None:
    problem = _load_torch()

    def trace(question: Question) -> list[Any]:
        from opscan.numerics.classify import classify

        if problem:
            raise ImportError(problem)
        known = classify(question.case, question.golden)
        if known.reason.endswith(OUT_OF_MEMORY):
            raise MemoryError
        return dump(known)

    serve(trace, *sys.argv[1:])


def _load_torch() -> str:
    """Import what every trace needs; why it cannot be imported, or nothing."""
    try:
        import torch

        import opscan.numerics.running  # noqa: F401
    except ImportError as problem:
        return str(problem)
    except OSError as problem:  # a shared library that is not there
        return f"{type(problem).__name__}: {problem}"
    torch.set_num_threads(1)
    return ""


if __name__ == "__main__":
    main()
