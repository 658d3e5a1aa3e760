"""What an operator computes that PyTorch does not know by its name: aclnn and torch_npu names, described as data.

`catalog/operators/*.yaml` holds one entry a name. An entry is another name, or the ATen operator it equals, or a
signature and a formula with the same numerics. Only the lines of the entry that is asked for are parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from opscan.data import data_path
from opscan.dataclass import dataclass
from opscan.model import Case
from opscan.numerics.declared.entries import MalformedEntry, Place, parse_text
from opscan.numerics.declared.entries import find as steps_of
from opscan.numerics.signatures import Parameter, plain, read_signature

if TYPE_CHECKING:
    from opscan.numerics.operators import Operator

_KEY = re.compile(r"^([A-Za-z_]\w*):", re.MULTILINE)
_NO_ENTRIES = frozenset({"orders.yaml", "parameters.yaml"})
_PREFIXES = (
    "torch.nn.functional.", "torch.nn.", "torch.ops.npu.", "torch_npu.", "torch.", "torch_", "aclnn.", "_npu_", "npu_",
)  # fmt: skip
_ENDINGS = ("weightnz", "out")
_FIELDS = frozenset({"aten", "signature", "formula", "also", "cast", "ignores", "note"})


_BUILT_IN = ("function", "aclnn_function", "kernel_function", "triton_function")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an answer was taken from: an entry of the catalog. `path` is relative to the folder of the catalog."""

    entry: str
    path: str
    line: int
    aten: str | None
    formula: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One described operator. `also`: other names of a parameter; `cast`: dtypes that its tensors must have.

    Of `aten` (an overload of `torch.ops.aten`) and `formula` (torch code over the parameters) one is set.
    """

    place: Place
    parameters: tuple[Parameter, ...]
    aten: str | None = None
    formula: str | None = None
    also: Mapping[str, tuple[str, ...]] | None = None
    cast: Mapping[str, str] | None = None
    ignores: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.place.key

    def operator(self) -> Operator:
        """The callable, made once. Raises MalformedEntry where the formula cannot be read."""
        return _operator(self.place)


@lru_cache(maxsize=1024)
def _operator(place: Place) -> Operator:
    from opscan.numerics.operators import Operator

    entry = load(place)
    names = tuple(parameter.name for parameter in entry.parameters)
    if entry.aten is not None:
        return Operator(entry.name, _overload(entry.aten, place), names)
    from opscan.numerics.goldens import formula

    try:
        return Operator(entry.name, formula(entry.formula or "", names, name=entry.name).call, names)
    except ValueError as problem:
        raise MalformedEntry(f"{place}: {problem}") from problem


def described(case: Case) -> Entry | None:
    """The entry for the aclnn name of a case, else for its bare name; None where the catalog has none."""
    for name in (case.aclnn_name, case.name):
        if name and (place := find(name)) is not None:
            return load(place)
    return None


def basis_of(case: Case) -> str:
    """`golden` where ATK evaluates the name itself, else `name`: the golden is in a plugin, taken at its name."""
    return "golden" if case.api_type in _BUILT_IN and case.api in ("pytorch", None) else "name"


def is_npu_name(name: str) -> bool:
    """Whether a name can only mean an operator of the NPU, whatever else of torch it is spelt like."""
    return name.startswith(("torch_npu.", "torch.ops.npu.", "npu_", "aclnn"))


def find(name: str) -> Place | None:
    """Where the entry of an aclnn, torch_npu or module name stands; versions differ in parameters, not in numerics."""
    if name.startswith("tf."):
        return None
    known = _index()
    keys = list(spellings(name))
    for key in keys:
        if key in known:
            return known[key]
    versions = _by_stem()
    return next((versions[key] for key in keys if key in versions), None)


@lru_cache(maxsize=1024)
def load(place: Place) -> Entry:
    """The entry at `place`, following the other name it stands for. Raises MalformedEntry."""
    return _entry(*_followed(place))


def _followed(place: Place) -> tuple[Place, Mapping[str, Any]]:
    """Where the entry really stands, and what it says. Raises MalformedEntry."""
    content = _parse(place)
    for _ in range(4):
        if not isinstance(content, str):
            break
        target = _index().get(plain(content))
        if target is None:
            raise MalformedEntry(f"{place} stands for {content}, which has no entry")
        place, content = target, _parse(target)
    if not isinstance(content, dict) or set(content) - _FIELDS:
        raise MalformedEntry(f"{place} needs a name, or a mapping of {', '.join(sorted(_FIELDS))}")
    return place, content


def origin_of(name: str) -> Origin | None:
    """What the catalog takes an aclnn, torch_npu or module name for, without torch. Raises MalformedEntry."""
    place = find(name)
    if place is None:
        return None
    place, content = _followed(place)
    return Origin(place.key, "/".join(place.path.parts[-3:]), place.line, content.get("aten"), content.get("formula"))


def places() -> tuple[Place, ...]:
    """Every entry, for checks and listings."""
    return tuple(_index().values())


def spellings(name: str) -> Iterator[str]:
    """The keys under which a name may stand, the exact one first."""
    yield plain(name.rpartition(".")[2])
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    exact = plain(name).removeprefix("aclnn")
    seen = set()
    for base in _bases(exact):
        for stem in (base, base.removeprefix("inplace"), *(base.removesuffix(ending) for ending in _ENDINGS)):
            for key in (stem, re.sub(r"grad$", "backward", stem), re.sub(r"backward$", "grad", stem)):
                if key and key not in seen:
                    seen.add(key)
                    yield key


def _bases(exact: str) -> Iterator[str]:
    """A name, and what it is called without the marks for a variant and for a version at its end."""
    for name in (exact, exact.removesuffix("functional"), exact.removesuffix("weightnz")):
        yield name
        yield re.sub(r"v\d+$", "", name)


@lru_cache(maxsize=1)
def _index() -> Mapping[str, Place]:
    known: dict[str, Place] = {}
    for path in sorted(data_path("catalog", "operators").glob("*.yaml")):
        if path.name in _NO_ENTRIES:
            continue
        text = path.read_text(encoding="utf-8")
        matches = list(_KEY.finditer(text))
        line, position = 1, 0
        for match, end in zip(matches, [*(m.start() for m in matches[1:]), len(text)], strict=True):
            line, position = line + text.count("\n", position, match.start()), match.start()
            place = Place(path, match.group(1), match.start(), end, line)
            if (other := known.get(plain(place.key))) is not None:
                raise MalformedEntry(f"{place} stands at {other.path.name}:{other.line} already")
            known[plain(place.key)] = place
    return known


@lru_cache(maxsize=1)
def _by_stem() -> Mapping[str, Place]:
    """Names without their version, for versions that have no entry of their own: the highest one stands for them."""
    stems: dict[str, Place] = {}
    for key, place in sorted(_index().items()):
        if re.search(r"v\d+$", key):
            stems[re.sub(r"v\d+$", "", key)] = place
    return stems


def _parse(place: Place) -> Any:
    return parse_text(place, place.path.read_text(encoding="utf-8")[place.start : place.end])


def _entry(place: Place, content: Mapping[str, Any]) -> Entry:
    aten, formula = content.get("aten"), content.get("formula")
    if (aten is None) == (formula is None):
        raise MalformedEntry(f"{place} needs either `aten` or `formula`")
    try:
        signature = content.get("signature")
        parameters = parameters_of(aten, place) if aten and not signature else read_signature(signature or "")
    except ValueError as problem:
        raise MalformedEntry(f"{place}: {problem}") from problem
    also = {key: (names,) if isinstance(names, str) else tuple(names) for key, names in content.get("also", {}).items()}
    cast = content.get("cast", {})
    if unknown := (set(also) | set(cast)) - {parameter.name for parameter in parameters}:
        raise MalformedEntry(f"{place} has no parameter {', '.join(sorted(unknown))}")
    return Entry(place, parameters, aten, formula, also, cast, tuple(content.get("ignores", ())))


def parameters_of(name: str, place: Place) -> tuple[Parameter, ...]:
    """The parameters of an ATen overload: those of its declared steps, which need no torch, else torch's."""
    steps = steps_of(name.partition(".")[0])
    return steps.parameters if steps is not None else read_signature(str(_overload(name, place)._schema))


def _overload(name: str, place: Place) -> Any:
    import torch

    packet, _, overload = name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, packet), overload or "default")
    except AttributeError:
        raise MalformedEntry(f"{place}: torch {torch.__version__} has no operator aten.{name}") from None
