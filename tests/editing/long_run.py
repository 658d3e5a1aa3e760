"""The property tests of edits over as many generated documents as one likes.

    python -m tests.editing.long_run --examples 200000 [--seed N]

Prints for each property how many documents it held for, or the smallest one that breaks it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from edit_documents import PROPERTIES
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st


def run(name: str, examples: int, start: int) -> bool:
    """Try one property; whether it held."""
    one = PROPERTIES[name]
    seen: set[int] = set()

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.tuples(*one.arguments))
    def trial(arguments: tuple[Any, ...]) -> None:
        seen.add(hash(arguments[0]))
        one.check(*arguments)

    begun = time.perf_counter()
    try:
        trial()
    except Exception as problem:
        print(f"{name}: broken after {len(seen)} documents: {type(problem).__name__}: {problem}")
        print("\n".join(getattr(problem, "__notes__", ())))
        return False
    print(f"{name}: {len(seen)} different documents in {time.perf_counter() - begun:.0f} s", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=200_000, help="in all (default 200000)")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    held = [run(name, chosen.examples // len(PROPERTIES), chosen.seed) for name in PROPERTIES]
    raise SystemExit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
