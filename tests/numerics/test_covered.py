"""A part of PyTorch's operator database is classified at every sample; `python -m tests.numerics.covered` does all."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's operator database needs expecttest")

from covered import ROUTES, cover, has_kind, names_of  # noqa: E402

ENTRIES = (
    "where", "maximum", "cumsum", "linalg.vector_norm", "nn.functional.linear", "nn.functional.gaussian_nll_loss",
    "cov", "tensor_split", "triangular_solve", "histogram", "item", "zero_", "masked.sum", "unique",
)  # fmt: skip

TRACED = ("tensor_split", "triangular_solve", "item", "unique")
"""What has no steps at some sample: places or shapes that are values of a tensor."""


@pytest.fixture(scope="module")
def database():
    from torch.testing._internal.common_methods_invocations import op_db

    found = {}
    for operator in op_db:
        found.setdefault(operator.name, operator)
    return found


@pytest.mark.parametrize("name", ENTRIES)
def test_every_sample_gets_a_class(name, database):
    reached = set()
    found = cover(database[name], reached, seconds=20, most=8)
    assert found.samples
    wanted = ROUTES if name not in TRACED else ROUTES[:-1]
    assert not {route: found.faults[route] for route in wanted if found.faults[route]}
    assert all(has_kind(overload) for overload in reached)


def test_an_overload_without_a_kind_is_seen(database, monkeypatch):
    from opscan.numerics import kinds

    planted = {packet: kind for packet, kind in kinds.load_kinds().items() if packet != "where"}
    monkeypatch.setattr(kinds, "load_kinds", lambda: planted)
    reached = set()
    found = cover(database["where"], reached, seconds=20, most=8)
    assert not all(has_kind(overload) for overload in reached)
    assert all(found.faults[route] for route in ROUTES)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("where", "torch.where"),
        ("nn.functional.pad.reflect", "torch.nn.functional.pad"),
        ("masked.sum", "torch.masked.sum"),
        ("signal.windows.hann", "torch.signal.windows.hann"),
        ("expand", "Tensor.expand"),
        ("torch.ops.aten._safe_softmax.default", "torch.ops.aten._safe_softmax"),
    ],
)
def test_names_that_specs_use_resolve(entry, name):
    assert name in names_of(entry)
