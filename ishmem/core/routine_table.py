"""Write what C++ takes from tables of Python: the routines with their traits, and shared numbers. The build runs this.

python routine_table.py FOLDER
"""

from __future__ import annotations

import sys
from enum import Enum, IntEnum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ishmem.common.collective_table import Collective

FLAGS = ("dest_blocks", "source_blocks", "own_counts", "is_plain", "gives_all_the_same")
CHOICES = ("root", "in_place", "combines")
NAMES = {name: name for name in ("EQ", "NE", "GT", "GE", "LT", "LE")}
"""The enumerators with other names than `cpp_name` gives."""
INTEGERS = {
    "B": "uint8_t", "H": "uint16_t", "I": "uint32_t", "Q": "uint64_t", "i": "int32_t", "q": "int64_t",
}  # fmt: skip


def cpp_name(name: str) -> str:
    """Return a name as C++ has it here: sum_reduce as SumReduce."""
    return "".join(word.capitalize() for word in name.split("_"))


def traits(routine: Collective) -> str:
    """Return the initialiser of ``Traits``."""
    choices: list[Enum] = [getattr(routine, field) for field in CHOICES]
    chosen = [f"{type(choice).__name__}::{cpp_name(choice.name)}" for choice in choices]
    return ", ".join([*chosen, *(str(getattr(routine, flag)).lower() for flag in FLAGS)])


def enumeration(kind: type[IntEnum], name: str = "") -> str:
    """Return an enumeration of Python as one of C++."""
    members = ", ".join(f"{NAMES.get(each.name) or cpp_name(each.name)} = {each.value}" for each in kind)
    return f"enum {name or kind.__name__} {{ {members} }};"


def _without_package() -> None:
    """Make ``ishmem.common`` importable without ``ishmem``, which a build does not have yet."""
    folder = Path(__file__).resolve().parents[1]
    for name, path in (("ishmem", folder), ("ishmem.common", folder / "common")):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package


def _routines() -> list[str]:
    from ishmem.common.collective_table import COLLECTIVES

    names = [cpp_name(name) for name in COLLECTIVES]
    rows = [f"    {{{traits(routine)}}},  // {name}" for name, routine in zip(names, COLLECTIVES.values())]
    return [
        f"enum Routine {{ {', '.join(names)}, ROUTINES }};",
        "",
        "constexpr Traits TRAITS[ROUTINES] = {",
        *rows,
        "};",
    ]


def _structure(name: str, fields: dict[str, str]) -> str:
    return f"struct __attribute__((packed)) {name} {{ {' '.join(_member(*each) for each in fields.items())} }};"


def _member(name: str, kind: str) -> str:
    """Return the member of a structure that has a format of `struct`."""
    return f"char {name}[{kind[:-1]}];" if kind[-1] == "s" else f"{INTEGERS[kind]} {name};"


def _numbers() -> list[str]:
    from ishmem.common import constants, shared_numbers as shared, type_tables

    return [
        "#pragma once",
        "#include <cstddef>",
        "#include <cstdint>",
        "",
        "namespace ishmem {",
        "",
        f"constexpr unsigned MAX_TEAMS = {shared.MAX_TEAMS};",
        f"constexpr size_t LINE = {shared.LINE};",
        f"constexpr long NO_RESULT = {shared.NO_RESULT};",
        *map(enumeration, (type_tables.Rmw, shared.Mode, shared.SetCode, shared.Algorithm, shared.Verdict)),
        enumeration(constants.Cmp, "Compare"),
        f"constexpr int SIGNAL_SET = {constants.SignalOp.SET:d}, SIGNAL_ADD = {constants.SignalOp.ADD:d};",
        "",
        "namespace requests {",
        f"constexpr int64_t FROM_PROGRAM = {shared.FROM_PROGRAM}, NBI = {shared.NBI};",
        enumeration(shared.Request, "RequestKind"),
        f"struct Words {{ int64_t {', '.join(shared.REQUEST_WORDS)}; }};",
        f"struct Header {{ int64_t {', '.join(shared.RING_HEADER)}; }};",
        enumeration(shared.Problem),
        "}  // namespace requests",
        "",
        "namespace messages {",
        f'constexpr char MAGIC[] = "{shared.MESSAGE_MAGIC.decode()}";',
        enumeration(shared.Kind),
        _structure("Header", shared.MESSAGE_HEADER),
        "}  // namespace messages",
        "",
        "namespace traces {",
        enumeration(shared.CallFlag),
        _structure("Call", dict(zip(shared.TracedCall._fields, shared.CALL_FORMATS))),
        "}  // namespace traces",
        "",
        "}  // namespace ishmem",
    ]


def main(folder: str) -> None:
    """Write the files."""
    _without_package()
    for file, lines in (("routine_table.inc", _routines()), ("numbers.hpp", _numbers())):
        text = ["// Written by routine_table.py from the tables of ishmem/common.", *lines]
        Path(folder, file).write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
