"""All variants of an operator find one rule: every overload of torch's registry, and every name the rules ask for."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from opscan import numerics
from opscan.numerics.kinds import kind_of, load_kinds
from opscan.numerics.packets import is_in_place, rule_name

torch = pytest.importorskip("torch")

RULES = Path(numerics.__file__).parent
PACKETS = {
    name.removeprefix("aten::").partition(".")[0]
    for name in torch._C._dispatch_get_all_op_names()
    if name.startswith("aten::")
}
WITHOUT_TWIN = frozenset({"_fill_mem_eff_dropout_mask", "_sobol_engine_ff", "_sobol_engine_initialize_state",
                          "_sobol_engine_scramble", "fill_diagonal", "requires_grad"})  # fmt: skip
"""In-place operators that have no functional form."""
LISTS_ONLY = frozenset({"powsum"})
"""Operators on lists of tensors that have no form for one."""


def twin_of(packet: str) -> str:
    """The functional single-tensor form, as torch's own naming has it."""
    single = packet.removeprefix("_foreach_")
    if single in ("__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"):
        return single.replace("__i", "__")
    return single[:-1] if single.endswith("_") and not single.endswith("__") else single


def test_every_packet_of_the_registry_finds_the_rule_of_its_twin():
    assert len(PACKETS) > 1000
    strays = {packet for packet in PACKETS if rule_name(packet) != rule_name(twin_of(packet))}
    assert not strays
    missing = {rule_name(packet) for packet in PACKETS} - PACKETS
    assert missing <= WITHOUT_TWIN | LISTS_ONLY | {"_nested_get_values", "_test_autograd_multiple_dispatch_view"}


def test_a_rule_is_known_under_its_own_name():
    assert not {packet for packet in PACKETS if rule_name(rule_name(packet)) != rule_name(packet)}
    assert not {packet for packet in load_kinds() if rule_name(packet) != packet}


@pytest.mark.parametrize("form", ["_copy", "_functional"])
def test_copying_and_functional_forms_are_the_same_operator(form):
    own = {"_to_copy", "index_copy", "_reshape_copy", "_foreach_copy"}
    forms = {packet for packet in PACKETS if packet.endswith(form)} - own
    assert forms
    assert not {packet for packet in forms if rule_name(packet) != packet.removesuffix(form)}


def test_in_place_packets_write_their_first_argument():
    wrong = set()
    for name in torch._C._dispatch_get_all_op_names():
        packet, _, overload = name.removeprefix("aten::").partition(".")
        if not name.startswith("aten::") or packet.startswith("_foreach_") or packet == "requires_grad_":
            continue
        first = next(iter(torch._C._get_schema(f"aten::{packet}", overload).arguments), None)
        if is_in_place(packet) and not (first and first.alias_info and first.alias_info.is_write):
            wrong.add(packet)
    assert wrong <= {"_fill_mem_eff_dropout_mask_"}


@pytest.mark.parametrize("packet", ["round", "renorm", "sgn", "cumsum", "index_put", "bernoulli"])
def test_an_in_place_form_has_the_kind_of_its_twin(packet):
    assert kind_of(f"{packet}_") == kind_of(packet) is not None


def asked_for() -> dict[str, set[str]]:
    """Module -> the texts that its rules compare `call.packet` with, or look it up among."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in [*sorted((RULES / "transfer").glob("*.py")), RULES / "facts.py", RULES / "tracer.py"]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tables = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and ast.unparse(node.left) == "call.packet":
                for side in node.comparators:
                    found[path.name] |= texts_in(tables.get(side.id, side) if isinstance(side, ast.Name) else side)
    return found


def texts_in(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Dict):
        return {text for key in node.keys if key is not None for text in texts_in(key)}
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    return {text for child in ast.iter_child_nodes(node) for text in texts_in(child)}


def test_no_rule_asks_for_a_name_that_no_call_has():
    asked = asked_for()
    assert sum(len(names) for names in asked.values()) > 60
    reachable = {rule_name(packet) for packet in PACKETS}
    strays = {(module, name) for module, names in asked.items() for name in names if name not in reachable}
    assert not strays
