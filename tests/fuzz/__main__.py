"""The long run: `python -m tests.fuzz --seconds 3600`. Each failure names the seed that lays its catalog again."""

from __future__ import annotations

import argparse
import os
import time
import traceback
from collections import Counter
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory

from .trials import KINDS, trial


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--seed", type=int, help="one catalog again; without it fresh ones are drawn")
    options.add_argument("--kind", choices=KINDS, action="append")
    chosen = options.parse_args()
    os.environ["OPSCAN_CACHE"] = "off"
    end, count, failed = time.monotonic() + chosen.seconds, 0, 0
    found: Counter[str] = Counter()
    while time.monotonic() < end:
        seed = SystemRandom().randrange(1 << 40) if chosen.seed is None else chosen.seed
        with TemporaryDirectory() as folder:
            try:
                found += trial(Path(folder), seed, chosen.kind or KINDS)
            except Exception:
                failed += 1
                print(f"seed {seed}: {traceback.format_exc(limit=-3)}", flush=True)
        count += 1
        if chosen.seed is not None:
            break
    print(f"{count} catalogs, {failed} failed; findings: {dict(found.most_common())}")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
