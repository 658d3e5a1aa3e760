"""The calls of a check: the same seed draws the same ones, whichever process draws them."""

from __future__ import annotations

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from dataclasses import replace
from random import Random

from opscan.checking.calls import Drawn, FreshCall, subject_of, without_gradients
from opscan.checking.described import draw_described, entries
from opscan.checking.naming import inner_seeds, parameters_of, seeds, spellings
from opscan.checking.parameters import optional_parameters, overloads, takes_out, words
from opscan.checking.redrawing import redraw
from opscan.checking.runs import run
from opscan.checking.unseeded import draw_call

_UNSEEDED = 0.15
_INNER = 0.12
_OUT = 0.04


def draw(base: str, number: int, seed: int) -> FreshCall | None:
    """Call `number` of the check with this seed for an operator; None where none can be drawn."""
    random = Random(f"{seed}/{base}/{number}")
    if base in entries():
        return draw_described(base, random)
    names = spellings(base)
    if random.random() < _INNER and (inner := inner_seeds(base)):
        start = random.choice(inner)
        return redraw(start, parameters_of(start.name), (), words(start.name), random)
    if not names:
        return None
    name = names[0] if random.random() < 0.5 else random.choice(names)
    signatures = overloads(name)
    if signatures and random.random() < _UNSEEDED:
        return draw_call(name, random.choice(signatures), words(name), random)
    if not (known := seeds(base)):
        return None
    start = replace(random.choice(known), name=name)
    choices = tuple(dict.fromkeys((*words(name), *_words_of(base))))
    call = redraw(start, parameters_of(name), optional_parameters(name), choices, random)
    return _with_out(call) if random.random() < _OUT and takes_out(name) and "out" not in call.kwargs else call


def _words_of(base: str) -> list[str]:
    """The words that the samples of an entry pass."""
    values = [value for call in seeds(base) for value in (*call.args, *call.kwargs.values())]
    return [value for value in values if isinstance(value, str)]


def _with_out(call: FreshCall) -> FreshCall:
    """The call with a tensor to write to, of the form that its result has; without gradients, as torch asks."""
    plain = without_gradients(call)
    try:
        outputs = list(run(subject_of(plain, "positive", 1)).tensors.values())
    except Exception:
        return call
    if len(outputs) != 1:
        return call
    out = Drawn(str(outputs[0].dtype).removeprefix("torch."), tuple(outputs[0].shape))
    return FreshCall(call.name, plain.args, {**plain.kwargs, "out": out})
