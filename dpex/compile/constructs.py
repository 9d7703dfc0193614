"""Messages for constructs of Python that kernels do not support, with the replacement to write.

The source of a kernel is searched for them only after numba has rejected it, to find the text of the error.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import re
from collections.abc import Iterator
from typing import Any

RAISED = 'kernels raise exceptions only, as raise ValueError("text")'
STRINGS = "kernels have no operations on strings: choose by numbers, such as the members of an enum.IntEnum"
"""The message for all operations on strings."""

NAMELESS = "<string>", "<stdin>"
"""File names without a file, for which linecache may have an unrelated source, such as that of ``python -c``."""
_COLLECTION = "a tuple or a kernel_api.PrivateArray may serve"
_ASYNC = "async: submit the kernel by dpex.call_kernel_async; in it, ishmem.wait_until waits"
_LOOP = "write a for loop"
_GENERATORS = f"generators: {_LOOP}"
GENERATORS = f"kernels have no {_GENERATORS}"
"""The message for yield."""
_TRY = "try: they cannot catch an exception; test the values by if before"
_ELEMENTS = "write to an element of an array argument"
_ATTRIBUTES = f"assignments to attributes: {_ELEMENTS}"

_NODES = {
    "AsyncFor": _ASYNC,
    "AsyncFunctionDef": _ASYNC,
    "AsyncWith": _ASYNC,
    "Await": _ASYNC,
    "ClassDef": "classes: define the class on the host; a device_func takes and returns tuples of numbers",
    "Delete": "del: leave it out, variables end with the kernel",
    "Dict": f"dictionaries: {_COLLECTION}",
    "DictComp": f"dictionaries: {_COLLECTION}",
    "ExceptHandler": _TRY,
    "GeneratorExp": _GENERATORS,
    "Global": f"assignments to globals, which are constants there: {_ELEMENTS}",
    "Import": "import: import the module at the top of the file",
    "ImportFrom": "import: import the name at the top of the file",
    "JoinedStr": 'f-strings: print("x is", x) prints text and values',
    "List": f"lists: {_COLLECTION}",
    "ListComp": f"lists: {_LOOP}; {_COLLECTION}",
    "MatchClass": "match with patterns of classes: compare numbers by if and elif",
    "MatchMapping": "match with patterns of dictionaries: compare numbers by if and elif",
    "MatchSequence": "match with patterns of sequences: compare numbers by if and elif",
    "Set": f"sets: {_COLLECTION}",
    "SetComp": f"sets: {_COLLECTION}",
    "TypeAlias": "type aliases: leave it out",
    "TemplateStr": 't-strings: print("x is", x) prints text and values',
    "Try": _TRY,
    "TryStar": _TRY,
    "With": "with: call the functions for its begin and end, such as ishmem.set_lock and ishmem.clear_lock",
    "Yield": _GENERATORS,
    "YieldFrom": _GENERATORS,
}
"""Endings of messages by class name of the ``ast`` node; some classes exist in newer versions of Python only."""

_OPCODES = {
    "BUILD_LIST": "List", "BUILD_MAP": "Dict", "BUILD_SET": "Set", "DICT_MERGE": "**", "FORMAT": "JoinedStr",
    "GET_A": "Await", "GET_YIELD_FROM": "YieldFrom", "IMPORT": "Import", "LOAD_BUILD_CLASS": "ClassDef",
    "MATCH_CLASS": "MatchClass", "MATCH_MAPPING": "MatchMapping", "MATCH_SEQUENCE": "MatchSequence",
    "STORE_GLOBAL": "Global", "DELETE_GLOBAL": "Delete", "UNPACK_EX": "*",
}  # fmt: skip
"""Names in `_NODES` or `_EXPRESSIONS` by prefix of the bytecode's name, for programs without a source file."""

_EXPRESSIONS = {
    "**": "** in calls: name each argument",
    "*": "* on the left of an assignment: name each element",
}

ON_HOST = "call it on the host, and pass the result as an argument"
"""The advice for functions without an equivalent in kernels."""

_INSPECTS = "a kernel knows the types of its variables when it compiles"

_FUNCTIONS = {
    "all": "join the conditions by and, or write a for loop",
    "any": "join the conditions by or, or write a for loop",
    "ascii": STRINGS, "bin": STRINGS, "bytearray": STRINGS, "bytes": STRINGS, "chr": STRINGS, "format": STRINGS,
    "hex": STRINGS, "oct": STRINGS, "ord": STRINGS, "repr": STRINGS, "str": STRINGS,
    "callable": _INSPECTS, "delattr": _ELEMENTS, "dir": _INSPECTS, "id": _INSPECTS, "issubclass": _INSPECTS,
    "object": _INSPECTS, "setattr": _ELEMENTS, "super": _INSPECTS, "vars": _INSPECTS,
    "dict": _COLLECTION, "frozenset": _COLLECTION, "list": _COLLECTION, "set": _COLLECTION,
    "reversed": "write range(n - 1, -1, -1)",
    "hash": "combine numbers by *, ^ and >>",
    "memoryview": "take a view of an array, such as a[1:3]",
    "sorted": "sort the elements of an array in place, in a loop",
}  # fmt: skip
"""Built-in functions that kernels do not have, with the replacement to write; or with `STRINGS`, the whole message."""

_SUPPORTED = {
    "abs", "bool", "complex", "divmod", "enumerate", "filter", "float", "getattr", "hasattr", "int", "isinstance",
    "iter", "len", "map", "max", "min", "next", "pow", "print", "range", "round", "slice", "sum", "tuple", "type",
    "zip", "Ellipsis", "False", "None", "NotImplemented", "True", "__debug__", "__name__",
}  # fmt: skip
"""Built-in names that kernels have."""


def of_function(name: str) -> str | None:
    """Return the message for a built-in function that kernels do not have; ``None`` for other names."""
    if name in _SUPPORTED or not hasattr(builtins, name) or _is_exception(name):
        return None
    advice = _FUNCTIONS.get(name, ON_HOST)
    return advice if advice == STRINGS else f"kernels have no {name}(): {advice}"


def of_opcode(name: str) -> str | None:
    """Return the message for a bytecode that numba does not support; ``None`` if its name is not in `_OPCODES`."""
    return next((_words(node) for beginning, node in _OPCODES.items() if name.startswith(beginning)), None)


def of_types(text: str) -> str | None:
    """Return the message for the first list, set or dictionary type in numba's message ``text``; ``None`` without."""
    found = re.search(r"\b(DictType\[|set\(\w|(?:reflected )?list\(\w)", text)
    kinds = {"D": "Dict", "s": "Set", "r": "List", "l": "List"}
    return _words(kinds[found[1][0]]) if found and "in globals" not in text else None


def at_line(file: str, line: int) -> str | None:
    """Return the message for the first unsupported construct at a line of a file; ``None`` if there is none."""
    return next((found for node in _nodes(file) if _is_at(node, line) and (found := of_node(node))), None)


def around_line(file: str, line: int) -> tuple[int, str] | None:
    """Return line and message of the innermost unsupported construct around a line of a file; ``None`` if none."""
    around = [(node, found) for node in _nodes(file) if _is_around(node, line) and (found := of_node(node))]
    return (around[-1][0].lineno, around[-1][1]) if around else None


def _is_at(node: Any, line: int) -> bool:
    return bool(node.lineno == line or (_is_around(node, line) and not hasattr(node, "body")))


def _is_around(node: Any, line: int) -> bool:
    return bool(node.lineno <= line <= (node.end_lineno or node.lineno))


def in_function(file: str, line: int) -> tuple[int, str] | None:
    """Return line and message of the first unsupported construct in a file's function at a line; ``None`` if none."""
    function = function_at(file, line)
    if function is None:
        return None
    for statement in function.body:
        for node in ast.walk(statement):
            if found := of_node(node) or _without_line(node):
                return getattr(node, "lineno", line), found
    return None


def function_at(file: str, line: int) -> ast.FunctionDef | None:
    """Return the function whose ``def`` or one of whose decorators is at a line of a file; ``None`` if none."""
    for node in _nodes(file):
        if isinstance(node, ast.FunctionDef) and line in (node.lineno, *(each.lineno for each in node.decorator_list)):
            return node
    return None


def nodes_at(file: str, line: int) -> Iterator[ast.AST]:
    """Return an iterator over the syntax nodes that begin at a line of a file, the outer ones first."""
    return (node for node in _nodes(file) if node.lineno == line)


def of_node(node: ast.AST) -> str | None:
    """Return the message for an unsupported syntax node, or ``None`` if kernels support it, or may do so."""
    kind = type(node).__name__
    if getattr(node, "is_constant", False):
        return None
    if kind in ("List", "Attribute", "Starred") and not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
        kind = {"List": "", "Attribute": "attribute", "Starred": "*"}[kind]
        return f"kernels have no {_ATTRIBUTES}" if kind == "attribute" else _words(kind)
    if kind in _NODES:
        return _words(kind)
    if isinstance(node, ast.Call):
        return _of_call(node)
    if isinstance(node, ast.Raise) and node.cause:
        return "kernels have no raise ... from: raise the exception alone"
    if isinstance(node, ast.Raise) and isinstance(node.exc, (ast.Subscript, ast.Constant, ast.BinOp)):
        return RAISED
    return STRINGS if _computes_with_text(node) else None


def _without_line(node: ast.AST) -> str | None:
    """Return the message for a node that numba rejects without naming its line; ``None`` for other nodes."""
    if isinstance(node, (ast.FunctionDef, ast.Lambda)) and any(node.args.kw_defaults):
        return "a function inside a kernel has no defaults of keyword-only parameters: leave out the *"
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id.islower():
        return RAISED
    return None


def _of_call(node: ast.Call) -> str | None:
    if any(each.arg is None for each in node.keywords):
        return _words("**")
    if not isinstance(node.func, ast.Name):
        return None
    if node.func.id == "pow" and len(node.args) + len(node.keywords) == 3:
        return "kernels have no pow with a modulus: multiply in a loop, and take % m after each step"
    if node.func.id == "print" and node.keywords:
        return "print in kernels takes values only, without sep, end, file and flush"
    return of_function(node.func.id)


def _computes_with_text(node: ast.AST) -> bool:
    """Return whether a node is an operation on a string literal, other than a comparison for equality."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare) and not all(isinstance(each, (ast.Eq, ast.NotEq)) for each in node.ops):
        parts = [node.left, *node.comparators]
    elif isinstance(node, (ast.For, ast.comprehension)):
        parts = [node.iter]
    elif isinstance(node, (ast.Attribute, ast.Subscript)):
        parts = [node.value]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    return any(isinstance(each, ast.Constant) and isinstance(each.value, (str, bytes)) for each in parts)


def _words(kind: str) -> str | None:
    text = _NODES.get(kind) or _EXPRESSIONS.get(kind)
    return text and f"kernels have no {text}"


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name)
    return isinstance(found, type) and issubclass(found, BaseException)


def _nodes(file: str) -> tuple[Any, ...]:
    """Return all syntax nodes of a file that have a line, the outer ones first; empty if it has no source."""
    return _parsed("".join(linecache.getlines(file))) if file not in NAMELESS else ()


@functools.lru_cache(maxsize=8)
def _parsed(source: str) -> tuple[Any, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # cells of notebooks may have lines that are no Python
        return ()
    for node in ast.walk(tree):
        parts = [node.iter] if isinstance(node, (ast.For, ast.comprehension)) else getattr(node, "comparators", [])
        for each in parts:
            if isinstance(each, (ast.List, ast.Set)):  # Python makes a tuple of it
                each.is_constant = all(isinstance(one, ast.Constant) for one in each.elts)  # type: ignore[union-attr]
        if isinstance(node, ast.JoinedStr):
            node.is_constant = not any(isinstance(each, ast.FormattedValue) for each in node.values)  # type: ignore[attr-defined]
    return tuple(node for node in ast.walk(tree) if hasattr(node, "lineno"))
