"""Small catalogs whose spec needs two standards, and what a run of `opscan fix --split` makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.fixing import Plan, plan_fixes, write_fixes
from opscan.splitting import with_splits

SPEC = """\
name: torch.maximum   # 两个输入
generate: {generate}
backward: true
standard:
  acc: equal   # bit by bit
  perf: not_key
inputs:
  - name: input
    type: tensor
    dtypes: {{values: [ fp32 ]}}
    ranges: {{valid: {{values: [[-5, 5]]}}, invalid: {{values: [[-5, 5]]}}}}
    shapes: {{dim_numbers: {{values: [2, 3]}}, dim_values: {{values: [4, 8]}}}}
  - name: other
    type: tensor
    dtypes: {{values: [ fp32 ]}}
    ranges: {{valid: {{values: [[-5, 5]]}}, invalid: {{values: [[-5, 5]]}}}}
    shapes: {{dim_numbers: {{values: [2, 3]}}, dim_values: {{values: [4, 8]}}}}
"""


def lay_out(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def plan_of(folder: Path, *, how: str = "twin", unsafe: bool = False, settings: Settings | None = None) -> Plan:
    settings = settings or Settings()
    audited = audit_paths([folder], settings)
    return with_splits(plan_fixes(audited, unsafe=unsafe), audited, settings, how=how, unsafe=unsafe)


def split(folder: Path, *, how: str = "twin", unsafe: bool = False, settings: Settings | None = None) -> Plan:
    """Plan and write; nothing may fail."""
    plan = plan_of(folder, how=how, unsafe=unsafe, settings=settings)
    assert write_fixes(plan).problems == ()
    return plan


def texts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
