"""Single expressions and functions: the interpreter gives what Python gives, or raises the same exception."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest

from opscan.pyread.interpreter import Interpreter
from opscan.pyread.stops import STEPS_PER_DRAW, CannotFollow, PluginRaise

EXPRESSIONS = """
1 + 2 * 3 ** 2 // 4 % 5 - -6
7 / 2, 7 // -2, -7 % 3, divmod(-7, 3), ~5, not 5, +True
1 < 2 < 3, 1 < 3 < 2, 1 == 1.0, "a" < "b", [1, 2] < [1, 3], (1,) == (1,), None is None, 1 is not None
3 in [1, 2, 3], "b" in "abc", 2 not in {1: 2}, 5 in range(0, 10, 5)
[1, 2] + [3], (1,) * 3, "ab" * 2, [0] * 0, 2 * [1]
[1, 2, 3][-1], [1, 2, 3][1:], "hello"[::-1], (1, 2, 3, 4)[::2], {"a": 1}["a"], range(10)[3]
5 & 3 | 8 ^ 2, 1 << 4, 256 >> 2, {1, 2} & {2, 3}, {1, 2} - {2}, {"a": 1} | {"b": 2}
[x * y for x in range(3) for y in range(3) if x != y]
{k: v for k, v in zip("abc", range(3))}, {x % 2 for x in range(5)}
sum(x for x in range(5)), any(x > 3 for x in [1, 5]), all([]), next((x for x in [3, 4] if x > 3), None)
min([3, 1, 2]), max(3, 1), min("b", "a"), max([], default=7), max([1, -5], key=abs), sum([1, 2], 10)
sorted([3, 1, 2], reverse=True), sorted("bca"), sorted([(1, "b"), (1, "a")]), sorted([1, -3, 2], key=lambda n: -n)
list(reversed([1, 2])), list(enumerate("ab", 1)), list(zip([1, 2], [3, 4])), list(map(lambda a: a + 1, [1]))
list(filter(None, [0, 1, "", "a"])), tuple([1]), set([1, 1]), dict(a=1), dict([("k", 2)]), list("ab"), list(range(3))
int("12"), int(3.9), int("ff", 16), float("1.5"), str(12), str([1, "a"]), bool([]), abs(-2), round(2.567, 1), round(2.5)
isinstance([], list), isinstance(1, (str, int)), isinstance(True, int), type([]) == list, type(1) is int
"a,b".split(","), "-".join(["a", "b"]), " x ".strip(), "abc".replace("b", "xx"), "Ab".lower(), "x".upper()
"abc".startswith("ab"), "abc".endswith(("c", "d")), "abc".find("c"), "aXb".partition("X"), "7".zfill(3), "a".isdigit()
"{}-{:02d}-{x}".format(1, 2, x=3), "{0}{0}".format("a")
f"{3:04d}|{2.5:.2f}|{'a'!r}|{[1, 2]}|{'x':>{3}}", "%s=%d" % ("a", 3)
[1, 2, 3].index(2), [1, 1].count(1), (1, 2).index(2), {"a": 1}.get("b", 5), list({"a": 1}.items()), list({"a": 1})
{"a": 1, "b": 2}.pop("a"), {1, 2} | {3}, {1, 2}.union([3]), sorted({3, 1}.difference({1})), (5).bit_length()
1 if [] else 2, [] or "x", 0 and 1, "" or 0 or None, (lambda a, b=2, *c, **d: (a, b, c, d))(1, 3, 4, e=5)
math.ceil(2.1), math.floor(-2.1), math.sqrt(9), math.prod([2, 3]), math.log2(8), math.gcd(12, 18), math.inf > 1
math.factorial(5), math.comb(5, 2), math.isqrt(17), math.pi
copy.deepcopy({"a": [1]}), copy.copy([1, [2]]), json.dumps({"a": [1, None]}, separators=(",", ":"))
list(itertools.product([1, 2], "ab")), list(itertools.chain([1], [2])), list(itertools.combinations([1, 2, 3], 2))
functools.reduce(lambda a, b: a * b, [2, 3, 4], 1), functools.reduce(operator.mul, [2, 5])
[y := 5, y ** 2], [*range(3), *"ab"], {**{"a": 1}, "b": 2}, (*[1], 2)
pow(2, 5), pow(2, -1), pow(3, 4, 5), hex(255), bin(5), chr(97), ord("a"), repr("a"), format(3.14159, ".2f")
hasattr([], "append"), getattr([], "nothing", 3), callable(len), dict.fromkeys([1, 2], 0), len("abc"), len({1: 2})
"""

ERRORS = """
[1, 2][5]
{"a": 1}["b"]
1 / 0
1 // 0
int("x")
"a" + 1
[1] < 3
len(5)
min([])
(1, 2)[0.5]
[].pop()
(lambda a: a)()
(lambda a: a)(1, 2)
[1].index(9)
{[1]: 2}
next(iter([]))
math.sqrt(-1)
random.choice([])
random.randint(5, 1)
"%d" % "x"
"{}".format()
[].remove(1)
2.0 ** 5000
"""

IMPORTS = "import copy, functools, itertools, json, math, operator, random\n"


def run(source: str, name: str = "f", *args: Any) -> Any:
    interpreter = Interpreter(random.Random(1))
    interpreter.budget.grant(STEPS_PER_DRAW)
    scope = interpreter.run_module(ast.parse(IMPORTS + source))
    return interpreter.call(interpreter.look_up(name, scope), list(args))


def run_python(source: str, name: str = "f", *args: Any) -> Any:
    names: dict[str, Any] = {}
    exec(IMPORTS + source, names)
    return names[name](*args)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("expression", EXPRESSIONS.strip().split("\n"))
def test_expression_agrees_with_python(expression: str) -> None:
    source = f"def f():\n    return {expression}\n"
    got, expected = run(source), run_python(source)
    assert got == expected
    assert repr(got) == repr(expected)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("expression", ERRORS.strip().split("\n"))
def test_expression_raises_what_python_raises(expression: str) -> None:
    source = f"def f():\n    return {expression}\n"
    with pytest.raises(Exception) as expected:  # noqa: PT011
        run_python(source)
    with pytest.raises(PluginRaise) as got:
        run(source)
    assert issubclass(expected.type, got.value.value.kind)
    assert got.value.value.kind is not Exception
    assert got.value.line == 3


FUNCTIONS = {
    "closure and nonlocal": """
def f():
    total = 0
    def add(n):
        nonlocal total
        total += n
        return total
    add(2)
    return add(3)
""",
    "global counter": """
count = 0
def bump():
    global count
    count += 1
def f():
    bump()
    bump()
    return count
""",
    "loop with else and continue": """
def f():
    seen = []
    for n in range(10):
        if n % 2:
            continue
        if n > 6:
            break
        seen.append(n)
    else:
        seen.append("end")
    k = 3
    while k:
        k -= 1
    else:
        seen.append("done")
    return seen
""",
    "try in all its parts": """
class Problem(Exception):
    pass
def risky(n, log):
    try:
        if n == 0:
            return 1 / n
        if n == 1:
            raise Problem("one")
        if n == 2:
            raise KeyError
        log.append("fine")
    except ZeroDivisionError as e:
        log.append("zero")
        return "zero"
    except Problem as e:
        log.append(e.args)
    except (ValueError, LookupError):
        log.append("lookup")
    else:
        log.append("else")
    finally:
        log.append("finally")
    return n
def f():
    log = []
    return [risky(n, log) for n in range(4)], log
""",
    "reraise": """
def inner():
    try:
        [][0]
    except IndexError:
        raise
def f():
    try:
        inner()
    except Exception:
        return "caught"
""",
    "unpacking": """
def f():
    a, (b, *c), d = 1, [2, 3, 4], 5
    x = y = [0]
    x.append(1)
    first, *_, last = "hello"
    for i, (p, q) in enumerate([(1, 2), (3, 4)]):
        a += i * p * q
    return a, b, c, d, y, first, last
""",
    "slices and deletion": """
def f():
    v = list(range(10))
    v[2:4] = [20, 30, 40]
    del v[0], v[-1]
    v[0] += 5
    v[1:1] = (7,)
    d = {"a": 1, "b": 2}
    del d["a"]
    d["c"] = d.setdefault("b", 9)
    d |= {"z": 0}
    return v, d
""",
    "methods of lists": """
def f():
    v = [3, 1, 2]
    v.sort()
    v.reverse()
    v.insert(1, 9)
    v.extend((4, 5))
    v.remove(9)
    w = v.copy()
    w.clear()
    v.sort(key=lambda n: -n)
    return v, w, v.pop(), v.pop(0)
""",
    "classes": """
class Shape:
    unit = 2
    def __init__(self, n):
        self.n = n
    def area(self):
        return self.n * self.unit
    @property
    def double(self):
        return self.area() * 2
    @staticmethod
    def helper(x):
        return x + 1
    @classmethod
    def make(cls, n):
        return cls(n)
class Wide(Shape):
    unit = 10
    def area(self):
        return super().area() + Shape.helper(1)
def f():
    w = Wide.make(3)
    w.n += 1
    return w.area(), w.double, Shape(1).area(), isinstance(w, Shape), isinstance(Shape(1), Wide)
""",
    "defaults are shared": """
def g(x, acc=[]):
    acc.append(x)
    return acc
def f():
    g(1)
    return g(2)
""",
    "cached function": """
calls = []
@functools.lru_cache(maxsize=None)
def slow(n):
    calls.append(n)
    return n * 2
def f():
    return slow(2), slow(2), slow(3), calls
""",
    "keyword only and star arguments": """
def g(a, b=2, *rest, c, d=4, **more):
    return a, b, rest, c, d, sorted(more.items())
def f():
    return g(1, c=3), g(*[1, 2, 3], **{"c": 5, "z": 0}), g(1, b=9, c=0, d=1)
""",
    "comprehension scopes": """
x = 10
def f():
    ys = [x for x in range(3)]
    return x, ys, [[i * j for j in range(i)] for i in range(4)], list({i: i for i in range(2)})
""",
    "assertion": """
def f():
    try:
        assert 1 > 2, "no"
    except AssertionError:
        return "failed"
""",
}


@pytest.mark.parametrize("title", sorted(FUNCTIONS))
def test_function_agrees_with_python(title: str) -> None:
    assert run(FUNCTIONS[title]) == run_python(FUNCTIONS[title])


RANDOM_CALLS = """
random.random()
random.randint(1, 100)
random.choice([1, 2, 3, 4, 5])
random.choices("abcdef", k=5)
random.choices([1, 2, 3], weights=[1, 5, 1], k=8)
random.sample(range(1000), 5)
random.uniform(1, 2)
random.randrange(0, 100, 7)
random.getrandbits(40)
random.gauss(0, 1)
random.Random(5).randint(0, 10**6)
[random.seed(3), random.random()][1]
"""


@pytest.mark.parametrize("call", RANDOM_CALLS.strip().split("\n"))
def test_random_numbers_are_those_of_python(call: str) -> None:
    source = f"def f():\n    return {call}\n"
    random.seed(1)
    assert run(source) == run_python(source)


def test_poison_reaches_only_what_the_statement_may_have_changed() -> None:
    source = """
table = [1]
other = [2]
unknown_thing = nowhere.something()
table.extend(nowhere.more())
def f():
    return other
def g():
    return table
def h():
    return unknown_thing
"""
    assert run(source) == [2]
    for name, line in (("g", 6), ("h", 5)):
        with pytest.raises(CannotFollow) as stop:
            run(source, name)
        assert stop.value.line in {line, line - 1}


def test_sets_are_walked_in_a_fixed_order() -> None:
    assert run("def f():\n    return list({'b', 'a', 'c'})\n") == ["a", "b", "c"]
