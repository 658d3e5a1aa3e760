"""Ways to spoil the text of a file: by bytes, by lines, by tokens of its format, by what stands in others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[str, Random], str]

_TOKEN = re.compile(r"[A-Za-z_][\w.]*|-?\d[\d.e+-]*|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")
_ODD = (
    "\0", "\ufeff", "\u2028", "\u200b", "\r", "\t", "\u202e", "\U0001f600", "\ud7ff",
    "'", '"', "`", "#", ":", "- ", "? ",
    "&a ",
    "*a", "<<: *a", "!!python/object:os.system", "!!binary ", "|", ">", "%YAML 1.1\n---\n", "---\n", "...\n", "{", "}",
    "[", "]", ",", "null", "~", "yes", "0o17", "0x1F", "1_000", ".inf", ".nan", "1e400", "-0", "1:30", "2001-01-01",
)  # fmt: skip
_NUMBERS = (
    "0",
    "-1",
    "1e400",
    "1e-400",
    "9" * 30,
    ".5",
    "5.",
    "0x10",
    "1_0",
    "nan",
    '"7"',
    "[7]",
    "{a: 7}",
    "null",
    "true",
)
_WORDS = (
    "equal", "single_bm", "mixed_tolerance_bm", "{mixed_tolerance_bm: {rtol: 1e-3}}", "fp32", "fp16", "bf16", "int8",
    "complex64",
    "tensor", "tensors", "scalar", "attr", "torch.where", "torch.sum", "aclnnAdd", "default", "", "~", "[]", "{}",
)  # fmt: skip


def drop(text: str, random: Random) -> str:
    start = random.randrange(len(text) + 1)
    return text[:start] + text[start + random.choice((1, 1, 2, 5, 40, 400)) :]


def insert(text: str, random: Random) -> str:
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(_ODD) * random.choice((1, 1, 1, 3)) + text[place:]


def flip(text: str, random: Random) -> str:
    if not text:
        return text
    place = random.randrange(len(text))
    return text[:place] + chr(ord(text[place]) ^ (1 << random.randrange(7))) + text[place + 1 :]


def repeat(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    start = random.randrange(len(lines))
    end = start + random.choice((1, 1, 2, 6))
    return "".join(lines[:end] + lines[start:end] * random.choice((1, 1, 3, 50)) + lines[end:])


def swap(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return text
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "".join(lines)


def indent(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    for place in range(len(lines)):
        if random.random() < random.choice((0.02, 1.0)):
            lines[place] = random.choice(("  ", " ", "\t", "    ")) + lines[place]
    return "".join(lines)


def number(text: str, random: Random) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    chosen = random.choice(found)
    return text[: chosen.start()] + random.choice(_NUMBERS) + text[chosen.end() :]


def word(text: str, random: Random) -> str:
    tokens = _TOKEN.findall(text)
    places = [place for place, token in enumerate(tokens) if token[0].isalpha() or token[0].isdigit()]
    if not places:
        return text
    place = random.choice(places)
    tokens[place] = random.choice((*_WORDS, tokens[random.choice(places)], tokens[place] * 2))
    return "".join(tokens)


def break_lines(text: str, random: Random) -> str:
    return text.replace("\n", random.choice(("\r\n", "\r", "\n\n", "\u0085", " \n")))


def truncate(text: str, random: Random) -> str:
    return text[: random.randrange(len(text) + 1)]


MUTATIONS: Sequence[Mutation] = (
    drop, insert, flip, repeat, swap, indent, number, number, word, word, word, break_lines, truncate,
)  # fmt: skip


def mutated(text: str, others: Sequence[str], random: Random) -> str:
    """One to four mutations, at times the tail of another file."""
    for _ in range(random.choice((1, 1, 2, 4))):
        text = random.choice(MUTATIONS)(text, random)
    if random.random() < 0.05:
        other = random.choice(others)
        text = text[: random.randrange(len(text) + 1)] + other[random.randrange(len(other) + 1) :]
    return text
