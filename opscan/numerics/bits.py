"""How the bits of a tensor came about, as a value that flows through the ATen calls of a trace."""

from __future__ import annotations

from binascii import crc32
from collections import Counter
from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from opscan.dataclass import dataclass, replace
from opscan.model import Stage, Step

MAX_PATH = 48
"""Longest path kept; a composite operator can make thousands of calls and a reader needs the first and the last."""
MAX_STAGES = 24
"""Most sums that are listed; a recurrence over a thousand steps nests as many, and the largest of them say it all."""
LONG = 5
"""A formula of so many terms with products in between is a loop (Horner's rule, a running average), not one that
people write out for an element."""
SEVERAL = 3
"""From so many addends on, the order of a sum shows."""


MAX_SOURCES = 6
Sources = frozenset[tuple[int, int]]


class Level(IntEnum):
    """From the strictest to the loosest; a join takes the larger."""

    CONST = 0
    SELECT = 1
    ROUNDED_ONCE = 2
    """One IEEE rounding of an exact result: the same on every IEEE device."""
    ARITHMETIC = 3
    ACCUMULATED = 4
    RANDOM = 5
    UNKNOWN = 6


@dataclass(frozen=True, slots=True)
class Bits:
    """What is known of the largest element.

    `ended`: the sums that a rounding has ended, in the order in which the bits met them. `addends`: how many values the
    sum holds that is still growing, for `cause` where its order is open (a lone value and an exact pair have none).
    `chain`: how many values additions one by one have put together without a rounding of another kind between;
    `terms`: the same, products in between allowed. `sources`: some of the elements that the addends come from, each a
    tensor and a place in it, at most `MAX_SOURCES`; nothing is known of these where it is empty.
    """

    level: Level = Level.SELECT
    ended: tuple[Stage, ...] = ()
    addends: int = 1
    cause: str = ""
    chain: int = 1
    terms: int = 1
    sources: Sources = frozenset()
    depends: frozenset[str] = frozenset()
    products: bool = False
    path: tuple[Step, ...] = ()
    reason: str = ""
    uninitialised: bool = False
    term: Any = None
    """What an element is computed from (elements.term.Term); None where that is not known."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The sums whose order is open, in the order in which the bits met them."""
        return (*self.ended, Stage(self.cause, self.addends)) if self.cause else self.ended

    @property
    def extent(self) -> int:
        """Addends of the largest single sum; two of an exact pair."""
        return max(self.addends, max((stage.extent for stage in self.ended), default=1))


PLAIN = Bits()
CONST = Bits(Level.CONST)
UNINITIALISED = Bits(Level.CONST, uninitialised=True)


def join(parts: Iterable[Bits]) -> Bits:
    """The bits of a result that depends on all of `parts` and adds nothing of its own."""
    known = list(parts)
    if not known:
        return CONST
    if len(known) == 1:
        return known[0]
    loosest = max(known, key=lambda bits: bits.level)
    grown = max(known, key=lambda bits: (bits.addends, bool(bits.cause)))
    return Bits(
        level=loosest.level,
        ended=_merge_stages([bits.ended if _grows_alike(bits, grown) else bits.stages for bits in known]),
        addends=grown.addends,
        cause=grown.cause,
        chain=max(bits.chain for bits in known),
        terms=max(bits.terms for bits in known),
        sources=_merge_sources(known),
        depends=frozenset().union(*(bits.depends for bits in known)),
        products=any(bits.products for bits in known),
        path=_merge_paths([bits.path for bits in known]),
        reason=loosest.reason,
        uninitialised=all(bits.uninitialised for bits in known),
        term=_alike([bits.term for bits in known]),
    )


def _alike(terms: list[Any]) -> Any:
    """The term that all have, or None."""
    return terms[0] if all(term is terms[0] for term in terms) else None


def either(parts: Iterable[Bits]) -> Bits:
    """The bits of elements of which each has those of one of `parts`."""
    known = list(parts)
    grown = max(known, key=lambda bits: bits.addends)
    return join(bits if bits is grown else replace(bits, addends=1, cause="", chain=1) for bits in known)


def _grows_alike(one: Bits, other: Bits) -> bool:
    return (one.cause, one.addends) == (other.cause, other.addends)


def _merge_stages(lists: list[tuple[Stage, ...]]) -> tuple[Stage, ...]:
    """The longest list, and what the others hold beyond it."""
    merged = max(lists, key=len)
    for other in lists:
        if other and other != merged:
            merged += tuple((Counter(other) - Counter(merged)).elements())
    return _few(merged)


def _few(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """At most `MAX_STAGES` of them, the smallest left out."""
    if len(stages) <= MAX_STAGES:
        return stages
    kept = sorted(range(len(stages)), key=lambda place: -stages[place].extent)[:MAX_STAGES]
    return tuple(stages[place] for place in sorted(kept))


def place_key(identity: object) -> int:
    """The number of a place that `identity` tells from others: the same in each run, unlike a hash of text."""
    return crc32(repr(identity).encode())


def few(sources: Iterable[tuple[int, int]]) -> Sources:
    return frozenset(sorted(set(sources))[:MAX_SOURCES])


def _merge_sources(known: list[Bits]) -> Sources:
    """Of all the operands; nothing where one of them could come from anywhere."""
    varying = [bits for bits in known if bits.level != Level.CONST]
    if any(not bits.sources for bits in varying):
        return frozenset()
    return few(source for bits in varying for source in bits.sources)


def _merge_paths(paths: list[tuple[Step, ...]]) -> tuple[Step, ...]:
    longest = max(paths, key=len)
    if all(path == longest or not path for path in paths):
        return longest
    merged = tuple(dict.fromkeys(step for path in paths for step in path))
    return merged if len(merged) <= MAX_PATH else merged[: MAX_PATH // 2] + merged[-MAX_PATH // 2 :]


def at_least(bits: Bits, level: Level, *depends: str) -> Bits:
    """`bits` raised to `level` where it is stricter, with `depends` added."""
    return replace(bits, level=max(bits.level, level), depends=bits.depends | frozenset(depends), uninitialised=False)


def end(bits: Bits) -> Bits:
    """`bits` after a rounding that is no addition: a sum that follows is another one."""
    if bits.addends == bits.chain == 1:
        return bits
    return replace(bits, ended=_few(bits.stages), addends=1, cause="", chain=1)


def bend(bits: Bits) -> Bits:
    """`bits` after an exact function that is not linear: what was a sum of terms is one value."""
    return bits if bits.addends == bits.terms == 1 else replace(end(bits), terms=1)


def round_once(bits: Bits) -> Bits:
    """The result of one IEEE rounding: correctly rounded only if the operands were exact."""
    exact = bits.level <= Level.SELECT
    return at_least(end(bits), Level.ROUNDED_ONCE if exact else Level.ARITHMETIC)


def round_many(bits: Bits) -> Bits:
    """A function that rounds more than once, or is approximated: what was a sum of terms is one value."""
    return replace(at_least(end(bits), Level.ARITHMETIC), products=True, terms=1)


def multiply(bits: Bits, *, once: bool = True) -> Bits:
    """A product or quotient of values whose bits are `bits`; times a sum of terms it is one of as many."""
    return replace(round_once(bits), products=True) if once else replace(round_many(bits), terms=bits.terms)


def accumulate(bits: Bits, count: int, cause: str, *depends: str, fused: bool = False) -> Bits:
    """Add up `count` values whose bits are `bits`.

    Two exact addends are rounded once whatever the order; two rounded ones still in a fixed order, unless the
    products can be `fused` into the sum (then already two depend on which product is rounded). One addend is none, and
    a sum of nothing a constant. A sum of sums is one sum of all their addends, a sum of products of sums another one; a
    formula that takes one element of each tensor is one addend.
    """
    if bits.level == Level.CONST and not fused:
        return replace(bits, uninitialised=False)
    if count <= 0 and bits.level <= Level.ACCUMULATED:
        return replace(CONST, depends=bits.depends, path=bits.path)
    if count <= 1:
        return replace(bits, depends=bits.depends | frozenset(depends) - {"values"}, uninitialised=False)
    depends_on = bits.depends | frozenset(depends)
    before = end(bits) if fused or (bits.chain > 1 and not bits.cause and places(bits) == 1) else bits
    total = before.addends * count
    if total == 2 and not fused:
        level = Level.ROUNDED_ONCE if bits.level <= Level.SELECT else Level.ARITHMETIC
        return replace(at_least(bits, level), addends=2, chain=1, terms=1, depends=depends_on)
    return replace(
        before,
        level=max(bits.level, Level.ACCUMULATED),
        addends=total,
        cause=_cause(before.cause, cause),
        chain=1,
        terms=1,
        depends=depends_on,
        products=bits.products or fused or bits.level >= Level.ROUNDED_ONCE,
        uninitialised=False,
    )


def _cause(first: str, second: str) -> str:
    """What a sum of both is named after: a broadcast only where nothing else adds."""
    return second if first in ("", "broadcast") and second else first


def add(
    first: Bits, second: Bits, cause: str = "reduction", most: int | None = None, *, through_products: bool = True
) -> Bits:
    """The sum of two values, either of which may be a sum itself; `most` addends meet where less than all of both do.

    Three and more that come from several elements are a sum in an open order: a kernel for the whole may add them in
    another one; `through_products` too where they are as many as only a loop makes. A constant is no addend, and a
    complete sum that a rounding has ended none of another such sum.
    """
    if Level.CONST in (first.level, second.level):
        bits = join((first, second))
        exact = bits.level <= Level.SELECT
        return at_least(bits, Level.ROUNDED_ONCE if exact else Level.ARITHMETIC)
    bits = join((first, second))
    most = first.addends + second.addends if most is None else most
    if most <= 1:
        return replace(bits, uninitialised=False)
    products = _is_product(first) or _is_product(second)
    several, grown = _several(bits, products), first.cause or second.cause
    chain = min(first.chain + second.chain, most)
    met = max(first.addends, second.addends) if _meet_again(first, second) else _counted(first) + _counted(second)
    addends = max(1, min(met, most), chain if several or not grown else 1)
    terms = first.terms + second.terms if most >= first.addends + second.addends else bits.terms
    if addends == 2 and bits.level <= Level.SELECT:
        return replace(at_least(bits, Level.ROUNDED_ONCE), addends=2, chain=2, terms=2)
    ended = _merge_stages([first.ended, second.ended])
    long = through_products and terms >= LONG and several
    if long and addends < terms and not grown:
        addends = terms
        ended = tuple(stage for stage in ended if stage not in (Stage(cause, first.terms), Stage(cause, second.terms)))
    summed = grown or (addends >= SEVERAL and (several or _summed(first) or _summed(second)))
    summed = bool(summed) and bits.level <= Level.ACCUMULATED
    return replace(
        at_least(bits, Level.ACCUMULATED if summed else Level.ARITHMETIC),
        ended=ended,
        addends=addends,
        cause=_cause(first.cause, second.cause) or cause if summed else "",
        chain=chain,
        terms=terms,
        products=products,
    )


def _is_product(bits: Bits) -> bool:
    """Whether the addends that a value brings into a sum are rounded themselves."""
    return bits.products or (bits.level >= Level.ROUNDED_ONCE and bits.addends == 1)


def _counted(bits: Bits) -> int:
    return 0 if bits.addends == 1 and bits.ended else bits.addends


def _summed(bits: Bits) -> bool:
    """Whether a call of its own has added up several elements."""
    return bits.addends > 1 and bits.chain == 1


def _several(bits: Bits, products: bool) -> bool:
    """Whether addends are several elements of a tensor, or copies from several; else an element's own formula."""
    return not bits.sources or places(bits) >= SEVERAL or (not products and len(bits.sources) >= SEVERAL)


def _meet_again(first: Bits, second: Bits) -> bool:
    """Whether two sums are over the same elements, each time with other weights."""
    if 1 in (first.addends, second.addends) or not first.sources or not second.sources:
        return False
    shared = {tensor for tensor, _ in first.sources} & {tensor for tensor, _ in second.sources}
    of_both = [{place for place in bits.sources if place[0] in shared} for bits in (first, second)]
    return bool(shared) and of_both[0] == of_both[1]


def places(bits: Bits) -> int:
    """Of how many places of one tensor the addends are known to come; 0 where nothing is known."""
    return max(Counter(tensor for tensor, _ in bits.sources).values(), default=0)


def lengthen(bits: Bits, inherited: Bits, factor: int) -> Bits:
    """`bits` where the sums that `inherited` has not could be `factor` times as long."""
    if bits.level > Level.ACCUMULATED:
        return bits
    before = Counter(inherited.stages)
    own = [bool(before.subtract((stage,)) or before[stage] < 0) for stage in bits.ended]
    if bits.addends > 1 or not any(own):
        return accumulate(bits, factor, "reduction", "shapes")
    ended = tuple(
        Stage(stage.cause, stage.extent * factor) if new else stage for stage, new in zip(bits.ended, own, strict=True)
    )
    return replace(bits, ended=ended, depends=bits.depends | {"shapes"})


def draw_random(bits: Bits) -> Bits:
    return replace(bits, level=max(bits.level, Level.RANDOM), uninitialised=False)


def unknown(bits: Bits, reason: str) -> Bits:
    return replace(bits, level=Level.UNKNOWN, reason=bits.reason or reason, uninitialised=False)


def extend(bits: Bits, step: Step) -> Bits:
    """`bits` with one more call on its path."""
    path = bits.path
    if path and path[-1] == step:
        return bits
    if len(path) >= MAX_PATH:
        path = path[: MAX_PATH - 2] + path[-1:]
    return replace(bits, path=(*path, step))
