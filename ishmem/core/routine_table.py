"""Write the enumeration ``Routine`` and the traits of the routines for ``routines.hpp``; the build runs this.

python routine_table.py FILE
"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ishmem.common.collective_table import Collective

FLAGS = ("dest_blocks", "source_blocks", "own_counts", "is_plain", "gives_all_the_same")
CHOICES = ("root", "in_place", "combines")


def cpp_name(name: str) -> str:
    """Return a name as C++ has it here: sum_reduce as SumReduce."""
    return "".join(word.capitalize() for word in name.split("_"))


def traits(routine: Collective) -> str:
    """Return the initialiser of ``Traits``."""
    choices: list[Enum] = [getattr(routine, field) for field in CHOICES]
    chosen = [f"{type(choice).__name__}::{cpp_name(choice.name)}" for choice in choices]
    return ", ".join([*chosen, *(str(getattr(routine, flag)).lower() for flag in FLAGS)])


def _without_package() -> None:
    """Make ``ishmem.common`` importable without ``ishmem``, which a build does not have yet."""
    folder = Path(__file__).resolve().parents[1]
    for name, path in (("ishmem", folder), ("ishmem.common", folder / "common")):
        package = ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package


def main(file: str) -> None:
    """Write the file."""
    _without_package()
    from ishmem.common.collective_table import COLLECTIVES

    names = [cpp_name(name) for name in COLLECTIVES]
    rows = [f"    {{{traits(routine)}}},  // {name}" for name, routine in zip(names, COLLECTIVES.values())]
    text = ["// Written by routine_table.py from ishmem/common/collective_table.py."]
    text += [
        f"enum Routine {{ {', '.join(names)}, ROUTINES }};",
        "",
        "constexpr Traits TRAITS[ROUTINES] = {",
        *rows,
        "};",
    ]
    Path(file).write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
