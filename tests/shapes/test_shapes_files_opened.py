"""An audit of one file of a large catalog opens what that file needs, however many others lie beside it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from opscan.audit import audit_paths
from opscan.config import Settings
from opscan.data import data_path

SAMPLES = data_path("catalog", "1000")
SPEC = "torch.where_backward"


class Watch:
    """Hears of every file that Python opens, while it listens; such a hook cannot be taken away again."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and self.names is not None:
            self.names.append(str(arguments[0]))


WATCH = Watch()


def opened(folder: Path, path: Path) -> list[str]:
    """The files of `folder` that an audit of `path` opens, by name."""
    WATCH.names = []
    try:
        audited = audit_paths([path], Settings())
    finally:
        names, WATCH.names = WATCH.names, None
    assert audited.audit.files[0].status not in ("unknown", "invalid")
    return sorted(Path(name).name for name in names if folder in Path(name).parents)


def crowded(folder: Path) -> Path:
    """A catalog with one spec, its plugin and cases, and hundreds of others."""
    shutil.copytree(SAMPLES / "result" / SPEC, folder / "result" / SPEC)
    text = (SAMPLES / f"{SPEC}.yaml").read_text(encoding="utf-8")
    (folder / f"{SPEC}.yaml").write_text(text, encoding="utf-8")
    for number in range(200):
        (folder / f"other_{number}.yaml").write_text(text, encoding="utf-8")
        cases = folder / "result" / f"other_{number}" / "json" / f"all_other_{number}.json"
        cases.parent.mkdir(parents=True)
        cases.write_text("[]", encoding="utf-8")
    return folder


def test_the_other_specs_and_cases_are_not_opened(tmp_path: Path) -> None:
    folder = crowded(tmp_path)
    needed = {f"{SPEC}.yaml", f"all_{SPEC}.json"}
    assert set(opened(folder, folder / f"{SPEC}.yaml")) == needed
    cases = folder / "result" / SPEC / "json" / f"all_{SPEC}.json"
    assert set(opened(folder, cases)) == needed  # the spec says what the cases are for


def test_only_plugins_that_may_belong_to_it_are_read(tmp_path: Path) -> None:
    folder = crowded(tmp_path)
    for number in range(50):
        (folder / f"tool_{number}.py").write_text("import sys\n", encoding="utf-8")
    for plugin in SAMPLES.glob("*.py"):
        shutil.copy(plugin, folder / plugin.name)
    names = opened(folder, folder / f"{SPEC}.yaml")
    assert not [name for name in names if name.startswith("other_")]
    assert max(map(names.count, names)) <= 2  # searched once for the names that the spec gives, and read once
