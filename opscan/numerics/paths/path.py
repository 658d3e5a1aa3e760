"""A gradient path: for one form of a call, how the class of every compared tensor follows from sizes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from opscan.dataclass import dataclass
from opscan.model import NumericClass, Step, TensorClass
from opscan.numerics.dtypes import ATK_DTYPES
from opscan.numerics.paths import asking, terms
from opscan.numerics.paths.signature import Instance, Sizes
from opscan.numerics.paths.terms import NoValue, Term


@dataclass(frozen=True)
class Outcome:
    """One way the bits of a tensor can come about. `dtype`: torch's name, or the place of the tensor that has the same.

    `steps`: (ATen call, phase, class, extent as a term), as most of the traces took them; no step of any trace adds up
    more than the whole does, so neither does one that is told.
    """

    dtype: str | int
    numeric_class: str
    once: bool
    cause: str | None
    depends_on: tuple[str, ...]
    extent: Term
    products: bool
    steps: tuple[tuple[str, str, str, Term], ...]

    @cached_property
    def _extent(self) -> Callable[[Instance], int]:
        return terms.number(self.extent)

    @cached_property
    def _steps(self) -> list[tuple[str, str, NumericClass, Callable[[Instance], int], Step | None]]:
        compiled = []
        for op, phase, kind, extent in self.steps:
            numeric = NumericClass(kind)
            fixed = Step(op, phase, numeric, extent) if isinstance(extent, int) else None
            compiled.append((op, phase, numeric, terms.number(extent), fixed))
        return compiled

    @cached_property
    def _class(self) -> NumericClass:
        return NumericClass(self.numeric_class)

    @cached_property
    def _other_extents(self) -> list[Callable[[Instance], int]]:
        """Those of the steps that are neither fixed nor the outcome's own."""
        others = [term for *_, term in self.steps if not isinstance(term, int) and term != self.extent]
        return [terms.number(term) for term in others]

    def extent_at(self, call: Instance) -> int:
        """The extent at the sizes of `call`. Raises NoValue where it or that of a step has none."""
        for extent in self._other_extents:
            extent(call)
        return self._extent(call)

    def at(self, call: Instance, name: str, role: str, position: int | None, sizes: Sizes) -> TensorClass:
        """The class at the sizes of `call`. Raises NoValue."""
        total = self._extent(call)
        steps = tuple(
            [
                fixed or Step(op, phase, kind, min(extent(call), max(total, 1)))
                for op, phase, kind, extent, fixed in self._steps
            ]
        )
        dtype = call.tensors[self.dtype].dtype if isinstance(self.dtype, int) else self.dtype
        return TensorClass(
            name,
            role,
            ATK_DTYPES.get(dtype, dtype),
            sizes,
            self._class,
            position,
            self.once,
            self.cause,
            self.depends_on,
            total,
            self.products,
            steps,
        )


@dataclass(frozen=True)
class TensorPath:
    """One compared tensor. `name`: `output:0`, or `output:0(@1)` and `grad:@1` with the place of the tensor it is of.

    `shape`: of an output; a gradient has that of its tensor. `table`: which outcome it is by the answers to all
    `questions` together; of answers that no trace has given together it says nothing.
    """

    name: str
    shape: Term | None
    questions: tuple[Term, ...]
    table: Mapping[tuple[str, ...], int]
    outcomes: tuple[Outcome, ...]

    @cached_property
    def place(self) -> int | None:
        """The place of the tensor it is the gradient of, or the new value of."""
        _, _, tail = self.name.partition("@")
        return int(tail.rstrip(")")) if tail else None

    @property
    def is_gradient(self) -> bool:
        return self.name.startswith("grad:")

    @cached_property
    def _shape(self) -> Callable[[Instance], Sizes]:
        return terms.shape(self.shape)

    @cached_property
    def _questions(self) -> list[Callable[[Instance], str]]:
        return [asking.answered(term) for term in self.questions]

    def sizes(self, call: Instance) -> Sizes:
        """The shape at the sizes of `call`. Raises NoValue."""
        sizes = self._shape(call)
        if min(sizes, default=1) <= 0 and (min(sizes) < 0 or not any(0 in shape for shape in call.shapes)):
            raise NoValue
        return sizes

    def outline(self, call: Instance, sizes: Sizes) -> Outline:
        """Which outcome it is at the sizes of `call`, and its extent. Raises NoValue."""
        place = self.table.get(tuple([ask(call) for ask in self._questions]))
        if place is None:
            raise NoValue
        return self, place, self.outcomes[place].extent_at(call), sizes

    def told(self, call: Instance, place: int, sizes: Sizes) -> TensorClass:
        """The class that an outline stands for."""
        name, position = self.name, None
        if self.place is not None:
            tensor = call.tensors[self.place]
            name = name.replace(f"@{self.place}", tensor.label)
            position = tensor.position if self.is_gradient else None
        role = "gradient" if self.is_gradient else "output"
        return self.outcomes[place].at(call, name, role, position, sizes)


Outline = tuple[TensorPath, int, int, Sizes]
"""One compared tensor of a call in short: its path, the place of its outcome, its extent and its shape."""


@dataclass(frozen=True)
class Path:
    """What holds for the calls of one form. `guards`: questions, and the answers without which nothing is said.

    `dtypes`: those of the tensors, one tuple for each combination it was proved for. `separable`: it was proved for a
    part of the gradients and for none too. `only_forward`: no gradient was wanted of any call.
    """

    form: str
    dtypes: tuple[tuple[str, ...], ...]
    guards: tuple[tuple[Term, tuple[str, ...]], ...]
    tensors: tuple[TensorPath, ...]
    separable: bool = True
    only_forward: bool = False

    @cached_property
    def _guards(self) -> list[tuple[Callable[[Instance], str], frozenset[str]]]:
        return [(asking.question(term), frozenset(answers)) for term, answers in self.guards]

    @cached_property
    def _outputs(self) -> list[TensorPath]:
        return [tensor for tensor in self.tensors if not tensor.is_gradient]

    @cached_property
    def _gradient_places(self) -> list[tuple[TensorPath, int]]:
        return [(tensor, tensor.place) for tensor in self.tensors if tensor.is_gradient and tensor.place is not None]

    def at(self, call: Instance) -> tuple[TensorClass, ...] | None:
        """Every compared tensor of the call, or None where the path does not speak of its sizes."""
        outlines = self.outline(call)
        return None if outlines is None else told(call, outlines)

    def outline(self, call: Instance) -> list[Outline] | None:
        """As `at`, in short."""
        wanted = [tensor.requires_grad for tensor in call.tensors]
        if self.only_forward and any(wanted):
            return None
        if not self.separable and not all(wanted[place] for _, place in self._gradient_places):
            return None
        try:
            shapes = [tensor.sizes(call) for tensor in self._outputs]
            call.outputs[:] = shapes
            for ask, answers in self._guards:
                if ask(call) not in answers:
                    return None
            found = [tensor.outline(call, sizes) for tensor, sizes in zip(self._outputs, shapes, strict=True)]
            found += [tensor.outline(call, call.shapes[at]) for tensor, at in self._gradient_places if wanted[at]]
        except NoValue:
            return None
        return found


def told(call: Instance, outlines: Sequence[Outline]) -> tuple[TensorClass, ...]:
    """The classes of the compared tensors of a call that a path has outlined."""
    return tuple([tensor.told(call, place, sizes) for tensor, place, _, sizes in outlines])
