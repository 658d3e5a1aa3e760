"""Measured figures in a page: what a command measured stands between two comments that name it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path


def put_into_page(page: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- measured: name -->` and `<!-- end -->`. Raises ValueError without them."""
    before = page.read_text(encoding="utf-8")
    lines = [line if line.startswith("|") else textwrap.fill(line, 118) for line in text.splitlines()]
    pattern = re.compile(rf"(<!-- measured: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    after, count = pattern.subn(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], before)
    if count != 1:
        raise ValueError(f"{page} has no place for {name}")
    page.write_text(after, encoding="utf-8")
