"""Plant a wrong kind for one ATen packet after the other: an oracle must refute it."""

from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest
import yaml

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's operator database needs expecttest")

from numerics_claims import Claim, claims_of, contradiction  # noqa: E402
from numerics_held_out import held_out  # noqa: E402
from numerics_samples import of_database  # noqa: E402

from opscan.checking.runs import Subject  # noqa: E402
from opscan.checking.truths import Truth, observe  # noqa: E402
from opscan.numerics import kinds  # noqa: E402

PLANTED = yaml.safe_load(Path(__file__).with_name("planted.yaml").read_text("utf-8"))
ADDING = PLANTED["adding"]
"""Packets that add up in an order a device may choose."""
SELDOM = frozenset({"adaptive_max_pool2d_backward"})
"""Adaptive windows overlap by one element, so three gradients meet too seldom to be seen here."""
ROUNDING = PLANTED["rounding"]
"""Packets that round each element on its own (or through opaque kernels)."""
DATABASE = (
    r"^(mv|dot|addmv|baddbmm|addbmm|trace|fft\.fft|fft\.rfft|nn\.functional\.(interpolate|avg_pool3d|grid_sample|pdist)"
    r"|linalg\.cross|sigmoid|sin|cos)$"
)
TRIES = 24


@pytest.fixture(scope="module")
def pool() -> dict[str, list[Subject]]:
    """Subjects by the packets that their traces pass: first those that pass little else, then by their extents."""
    torch.set_num_threads(1)
    found: dict[str, list[tuple[int, int, int, Subject]]] = defaultdict(list)
    subjects = [*held_out(torch.float32, seeds=(3,)), *of_database(torch.float32, 6, only=DATABASE)]
    for number, what in enumerate(subjects):
        claims = [claim for claim in claims_of(what).values() if claim.path]
        for packet in {op.split(".")[1].rstrip("_") for claim in claims for op in claim.path}:
            length = min(len(claim.path) for claim in claims if any(f".{packet}" in op for op in claim.path))
            found[packet].append((length, -max(claim.extent for claim in claims), number, what))
    return {packet: [what for *_, what in sorted(entries, key=lambda e: e[:3])] for packet, entries in found.items()}


@pytest.fixture(scope="module")
def truths() -> dict[int, dict[str, Truth]]:
    return {}


def refuted(what: Subject, truths: dict[int, dict[str, Truth]]) -> bool:
    if id(what) not in truths:
        truths[id(what)] = observe(what, fan_limit=36)
    seen = truths[id(what)]
    claims: dict[str, Claim] = claims_of(what)
    return any(contradiction(claims[name], truth) for name, truth in seen.items() if truth.numel)


@pytest.mark.parametrize(
    ("packet", "kind"),
    [(p, "select") for p in (*ADDING, *ROUNDING)]
    + [(p, "arithmetic") for p in ADDING if p not in SELDOM]
    + [("exp", "exact"), ("sum", "view")],
)
def test_a_wrong_kind_is_refuted(packet, kind, pool, truths, monkeypatch):
    assert pool[packet], "no subject passes this packet"
    planted = {**kinds.load_kinds(), packet: kind}
    monkeypatch.setattr(kinds, "load_kinds", lambda: planted)
    assert any(refuted(what, truths) for what in pool[packet][:TRIES])


def test_the_right_kinds_are_not_refuted(pool, truths):
    assert not [what.name for packet in ADDING[:8] for what in pool[packet][:2] if refuted(what, truths)]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("exact:\n  because: x\n  packets: [sum]\n", "sum is exact here and select elsewhere"),
        ("exact: {because: x, packets: [neg]}\n", "b.yaml: a kind is its name"),
    ],
)
def test_a_packet_has_one_kind(second, told, tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("select:\n  because: x\n  packets: [sum]\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text(second, encoding="utf-8")
    monkeypatch.setattr(kinds, "data_path", lambda *_: tmp_path)
    monkeypatch.setattr(kinds, "_entries", kinds._entries.__wrapped__)
    with pytest.raises(ValueError, match=told):
        kinds.load_kinds.__wrapped__()


def test_every_kind_has_a_rule():
    from opscan.numerics.transfer import rule_of

    assert not {kind for kind in kinds.load_kinds().values() if rule_of(kind) is None}


def test_every_rule_is_found_in_its_family():
    from opscan.numerics import transfer

    modules = {path.stem for path in Path(transfer.__path__[0]).glob("*.py")}
    found = {name: getattr(import_module(f"opscan.numerics.transfer.{name}"), "RULES", {}) for name in modules}
    assert {name: sorted(rules) for name, rules in found.items() if rules} == {
        name: sorted(kinds.split()) for name, kinds in transfer._FAMILIES.items()
    }
