"""The kinds table is read as YAML would read it."""

import yaml

from opscan.data import data_path
from opscan.numerics.kinds import load_kinds, reason_of


def test_the_files_hold_what_yaml_finds_in_them() -> None:
    files = [yaml.safe_load(path.read_text("utf-8")) for path in data_path("catalog", "aten").glob("*.yaml")]
    kinds = {kind: entry for file in files for kind, entry in file.items()}
    assert load_kinds() == {packet: kind for kind, entry in kinds.items() for packet in entry["packets"]}
    assert all(reason_of(kind) == entry["because"] for kind, entry in kinds.items())
