"""Translates error messages of numba to the terms of the program: its operators, types and names."""

from __future__ import annotations

import re
from typing import Callable

from . import constructs

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "invert": "~", "neg": "-", "pos": "+",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "is_": "is", "is_not": "is not",
    "not_": "not",
}  # fmt: skip

_TYPES = (
    (re.compile(r"Literal\[str\]\((.*?)\)"), r"'\1'"),
    (re.compile(r"Literal\[\w+\]\((.*?)\)"), r"\1"),
    (re.compile(r"(?:\w+NdArray|array)\((\w+), \d+d, [^()]*\)"), r"an array of \1"),
    (re.compile(r"\w+NdArray\(dtype=(\w+)[^()]*\)"), r"an array of \1"),
    (re.compile(r"LocalAcc\w+\((\w+)[^()]*\)"), r"a LocalAccessor of \1"),
    (re.compile(r"PrivateA\w+\((\w+)[^()]*\)"), r"a PrivateArray of \1"),
    (re.compile(r"UniTuple\((\w+) x (\d+)\)"), r"a tuple of \2 \1"),
    (re.compile(r"Tuple\(\)"), "an empty tuple"),
    (re.compile(r"Tuple(\([^()]*\))"), r"the tuple \1"),
    (re.compile(r"\b(Item|NdItem|Group|SubGroup)(?:Type\(\d\)|<\d>)"), r"\1"),
    (re.compile(r"range_(?:state|iter)_\w+"), "a range"),
    (re.compile(r"reflected list\([^()]*\)(?:<[^>]*>)?|list\([^()]*\)<[^>]*>"), "a list"),
    (re.compile(r"(?:DictType|set)\[?\(?[^()\[\]]*[\])](?:<[^>]*>)?"), "a dictionary or set"),
    (re.compile(r"(?:type\(CPUDispatcher|type\(<DeviceFunction|type\(<DeviceDispatcher)\(?<?[^>]*>*\)*"), "a function"),
    (re.compile(r"Function\(<(?:built-in function|ufunc|class|function) '?([\w.]+)'?[^>]*>\)"), r"the function \1"),
    (re.compile(r"BoundFunction\(\('(?:\w+\.)?(\w+)'.*\) for .*\)"), r"the method \1"),
    (re.compile(r"type\(\w*Dispatcher\(<function (\w+) at \w+>\)\)"), r"the function \1"),
    (re.compile(r"slice<[\w:]+>"), "a slice"),
    (re.compile(r"class\((\w+)\)"), r"the type \1"),
    (re.compile(r"\bunicode_type\b"), "a string"),
    (re.compile(r"\bnone\b"), "None"),
)  # fmt: skip
"""Patterns of types in numba's messages, with the words that replace them."""

_OF_NUMPY = {
    "numpy.isclose": ": write abs(a - b) <= atol + rtol * abs(b)",
    "numpy.where": ": write x if condition else y",
}
"""Replacements to write instead of functions of numpy."""

_ANNOTATION = re.compile(r": '[^']*'| -> .*")
_VERSION = re.compile(r"\.\d+\b")


def named(kinds: str) -> str:
    """Return the text ``kinds`` with words in place of types in numba's notation."""
    for pattern, words in _TYPES:
        kinds = pattern.sub(words, kinds)
    return kinds.strip().rstrip(",")


def _kind(kind: str) -> str:
    """Return a type in words; for a literal type, the type of the constant."""
    return named(re.sub(r"Literal\[(\w+)\]\(.*?\)", r"\1", kind))


def _variable(name: str) -> str:
    """Return the program's name of a variable of numba's IR, or ``the value`` for a temporary."""
    return "the value" if name.startswith("$") else _VERSION.sub("", name)


def _is_text(kinds: str) -> bool:
    return "unicode_type" in kinds or "Literal[str]" in kinds


def _no_implementation(found: re.Match[str]) -> str:
    name, kinds = found["name"].rpartition(".")[2], found["kinds"]
    if name in ("setitem", "static_setitem"):
        return f"an element of an array takes a number, got {named(_last(kinds))}"
    if _is_text(kinds):
        return constructs.STRINGS
    if name in ("getitem", "static_getitem"):
        return f"{named(_first(kinds))} has no elements to take by [...]"
    if name.startswith(("ol_", "_", "impl")):
        return f"a method of {named(_first(kinds))} does not take these arguments"
    if name == "contains":
        return f"kernels have no 'in' for {named(_first(kinds))}: compare the elements in a for loop"
    if name in _SYMBOLS:
        return f"kernels have no {_SYMBOLS[name]} of {' and '.join(map(named, _parts(kinds)))}"
    if name.startswith("i") and name[1:] in _SYMBOLS:
        return f"kernels have no {_SYMBOLS[name[1:]]}= of {' and '.join(map(named, _parts(kinds)))}"
    return f"kernels have no {name}({', '.join(map(named, _parts(kinds)))})"


def _parts(kinds: str) -> list[str]:
    """Split a list of types at the commas outside brackets."""
    parts, depth = [""], 0
    for letter in kinds:
        depth += (letter in "([<") - (letter in ")]>")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [each.strip() for each in parts if each.strip()]


def _first(kinds: str) -> str:
    return (_parts(kinds) or [""])[0]


def _last(kinds: str) -> str:
    return (_parts(kinds) or [""])[-1]


def _invalid_use(found: re.Match[str]) -> str:
    name, kinds = found["name"], found["kinds"]
    if name == "getiter":
        return f"a for loop cannot go over {named(kinds)}: range(n) gives the numbers from 0 to n - 1"
    operator = re.match(r"<built-in function (\w+)>", name)
    if operator and operator[1] in _SYMBOLS:
        return f"kernels have no {_SYMBOLS[operator[1]]} of {' and '.join(map(named, _parts(kinds)))}"
    return f"{named(name)} cannot be called with ({', '.join(map(named, _parts(kinds)))})"


def _global(found: re.Match[str]) -> str:
    name, kind = found["name"], found["kind"]
    if words := constructs.of_function(name):
        return words
    if kind == "function":
        return f"{name} is a function of Python alone: decorate it by dpex.device_func"
    return (
        f"{name} is a {kind}, which kernels do not take: a global is a number, a tuple of numbers, a function or a "
        "module; pass arrays as arguments"
    )


def _attribute(found: re.Match[str]) -> str:
    if _is_text(found["kind"]):
        return constructs.STRINGS
    if found["name"] in ("astype", "dtype", "item"):
        return f"{named(found['kind'])} has no {found['name']}: numpy.float32(x) converts a number"
    return f"{named(found['kind'])} has no {found['name']} in kernels"


def _opcode(found: re.Match[str]) -> str:
    return constructs.of_opcode(found["name"]) or f"kernels have no {found['name'].lower().replace('_', ' ')}"


def _of_numpy(found: re.Match[str]) -> str:
    return f"kernels have no {found['name']}{_OF_NUMPY.get(found['name'], ', or not for these arguments')}"


_CALL = r"\((?P<kinds>[^\n]*)\)"
_RULES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"(?P<words>kernels have no [^\n]*)", "{words}"),
    (
        r"TypingError: (?P<words>(?:missing a required|too many positional|got an unexpected|multiple values)[^\n]*)",
        "{words}",
    ),
    (r"^NameError: (?P<words>[^\n]*)", "{words}"),
    (
        r"Unsupported array index type (?P<kind>[^\n]+?) in ",
        "an index of an array is an integer or a slice, got {kind}",
    ),
    (
        r"cannot index (?P<kind>[^\n]+) with (?P<count>\d+) indices",
        "{kind} has fewer dimensions than {count} indices name",
    ),
    (r"No implementation of function .*?>>> (?P<name>[\w.]+)" + _CALL, _no_implementation),
    (r"Invalid use of (?P<name>[^\n]+?) with parameters " + _CALL, _invalid_use),
    (r"Untyped global name '(?P<name>\w+)':? .*?<class '(?:[\w.]*\.)?(?P<kind>\w+)'>", _global),
    (r"Unknown attribute '(?P<name>\w+)' of type (?P<kind>[^\n]+)", _attribute),
    (r"Use of unsupported opcode \((?P<name>\w+)\)", _opcode),
    (
        r"[Cc]annot unify (?P<one>[^\n]+?) and (?P<other>[^\n]+?) for '(?P<variable>[^']+)'",
        "{variable} is {one} on one way and {other} on another: a variable of a kernel has one type",
    ),
    (
        r"The use of a (?P<kind>[^\n]+?) type, assigned to variable '(?P<name>\w+)' in globals",
        "{name} is {kind}, which kernels do not take: make it a tuple",
    ),
    (r"Use of unsupported NumPy function '(?P<name>[\w.]+)'", _of_numpy),
    (r"failed to unpack (?P<kind>[^\n]+)", "{kind} cannot be unpacked"),
    (
        r"wrong tuple length for .*?expected (?P<wanted>\d+), got (?P<got>\d+)",
        "a tuple of {got} elements cannot be unpacked into {wanted} names",
    ),
    (r"Int value is too large: (?P<value>-?\d+)", "{value} fits no integer type"),
    (
        r"Type of variable '(?P<variable>[^']+)' cannot be determined",
        "{variable} has no type: it is used where it may have no value yet",
    ),
    (
        r"to signature '(?P<signature>[^\n]*?)' due to \"TypeError: (?P<words>[^\"\n]+)\"",
        "the call does not fit {signature}: {words}",
    ),
    (r"float\(\) only support for numbers", "float() takes a number"),
    (
        r"^\w+Error: (?:(?:not enough|too many) values to unpack|tuple index out of range)",
        "a function on this line does not take these arguments",
    ),
    (r"Unicode(?:Iterator)?Type", constructs.STRINGS),
    (
        r"^AssertionError: ?$",
        "a function inside the kernel is called in a way that kernels do not have: pass its arguments by position",
    ),
    (
        r"Unsupported use of cell variable",
        "a function inside a kernel cannot call itself: devices have no stack; write a loop",
    ),
    (r"use of yield in a closure", constructs.GENERATORS),
    (
        r"NRT required|NRT_\w+|has no attribute '_?nrt|Unrecognized options",
        "this needs memory at run time, which kernels do not have: use a tuple or a PrivateArray",
    ),
)
"""Patterns in numba's messages, with their translation: a format of the pattern's groups or a function of the match."""

_GROUPS = {
    "kind": named, "one": _kind, "other": _kind, "variable": _variable,
    "signature": lambda text: _ANNOTATION.sub("", text),
}  # fmt: skip
"""Functions that translate the groups of patterns; other groups are inserted unchanged."""

_PATTERNS = tuple((re.compile(pattern, re.DOTALL | re.MULTILINE), words) for pattern, words in _RULES)

_INTERNAL = re.compile(r"nopython|NRT|[Nn]umba|unify|Function\(|opcode|<class |\$\w|\bIR\b|^\w+Error: ")


def translated(text: str) -> str | None:
    """Return the translation of a message of numba; ``None`` if no pattern matches."""
    for pattern, words in _PATTERNS:
        if found := pattern.search(text):
            if callable(words):
                return words(found)
            return words.format(**{name: _GROUPS.get(name, str)(its) for name, its in found.groupdict().items()})
    return None


def is_internal(text: str) -> bool:
    """Return whether a message contains terms of numba's implementation."""
    return bool(_INTERNAL.search(text))
