"""The package's structure: the public names agree everywhere, and imports among the packages go one way."""

from __future__ import annotations

import ast
import fnmatch
import functools
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from tested_in import TESTED_IN

import ishmem
from ishmem.common import exports, violations

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "ishmem": "ishmem",
    "kernels": "ishmem.kernels",
    "dpex": "ishmem.dpex",
    "ipc": "ishmem.ipc",
    "benchmarks": "ishmem.benchmarks",
    "examples/apps": "ishmem.examples.apps",
}
"""The folders of the checkout, and the packages that they are installed as."""

FRONT_END = ROOT / "dpex" / "front_end"

SUB_PACKAGES = (
    "common", "dpex", "ipc", "environment", "runtime", "host_collectives", "kernels", "launch", "cli", "examples",
    "testing", "benchmarks", "deep_ep",
)  # fmt: skip
CHAPTERS = "chapters"
"""Stands for the modules directly in ``ishmem``, which hold the public routines."""
MAY_IMPORT = {
    "common": set(),
    "dpex": set(),
    "ipc": {"common"},
    "environment": {"common"},
    "runtime": {"common", "dpex", "ipc", "environment"},
    "host_collectives": {"common", "ipc", "environment", "runtime"},
    CHAPTERS: {"common", "ipc", "environment", "runtime", "host_collectives", "kernels"},
    "kernels": {"common", "dpex", "ipc", "environment", "runtime", CHAPTERS},
    "launch": {"common", "dpex", "environment", "ipc"},
    "examples": {"dpex", CHAPTERS},
    "deep_ep": {"common", "runtime", "kernels", CHAPTERS},
    "cli": {*SUB_PACKAGES, CHAPTERS},
    "testing": {"common", "environment", "runtime", "launch", CHAPTERS},
    "benchmarks": {*SUB_PACKAGES, CHAPTERS},
}


def exported() -> dict[str, str]:
    """Return the public names, each with the module that has it: of a module, the package."""
    found = {name: f"ishmem.{module}" for module, names in exports.by_module().items() for name in names}
    return {**found, **dict.fromkeys(exports.MODULES, "ishmem")}


def module_paths() -> dict[str, Path]:
    """Return the files of all modules, by name."""
    found = {}
    for folder, package in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


MODULES = module_paths()


def imported(name: str) -> set[str]:
    """Return the modules of ishmem that a module imports, in functions and under TYPE_CHECKING as well."""
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found |= {resolved(base, alias.name) for alias in node.names}
    # ``import ishmem`` and ``from ishmem import _core`` import no further module by themselves.
    return (found & set(MODULES)) - {name, "ishmem"}


def resolved(base: str, name: str) -> str:
    """Return the module that ``from base import name`` refers to; public names are those of their chapter."""
    if f"{base}.{name}" in MODULES:
        return f"{base}.{name}"
    return exported().get(name, base) if base == "ishmem" else base


def package_of(module: str) -> str:
    """Return the sub-package of a module, or `CHAPTERS`."""
    if module == "ishmem.__main__":
        return "cli"
    part = module.split(".")[1] if "." in module else ""
    return part if part in SUB_PACKAGES else CHAPTERS


@functools.cache
def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    return {name: imported(name) for name in MODULES}


def against_the_order() -> set[tuple[str, str]]:
    """Return the imports that go against the order of the packages."""
    return {
        (name, other)
        for name, others in imports().items()
        for other in others
        if package_of(other) not in {package_of(name), *MAY_IMPORT[package_of(name)]}
    }


def circles(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Yield the sets of modules that import one another, directly or through others."""
    reached = {name: _reachable(graph, name) for name in graph}
    seen: set[str] = set()
    for name in graph:
        circle = {other for other in reached[name] if name in reached[other]}
        if circle and name not in seen:
            seen |= circle
            yield circle


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    queue = list(graph[start])
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue += graph[name]
    return found


def test_every_name_of_the_stub_exists_where_the_stub_says() -> None:
    for name, module in exported().items():
        found = importlib.import_module(module)
        assert hasattr(found, name), f"{module} has no {name}"
        assert name in getattr(found, "__all__", [name]), f"{name} is not in {module}.__all__"
        assert getattr(ishmem, name) is getattr(found, name)


def test_the_package_exports_the_names_of_the_stub() -> None:
    assert sorted(ishmem.__all__) == sorted(exported())
    assert set(exported()) <= set(dir(ishmem))


@pytest.mark.parametrize("module", sorted(set(exported().values())))
def test_every_public_name_of_a_chapter_is_in_the_stub(module: str) -> None:
    public = getattr(importlib.import_module(module), "__all__", [])
    assert set(public) <= set(exported())


def test_a_table_says_where_a_module_is_tested() -> None:
    """Each module has a test file of its name or a row, and each row has modules."""
    files = (ROOT / "tests").glob("*/test_*.py")
    tests = {path.relative_to(ROOT / "tests").with_suffix("").as_posix() for path in files}
    names, unused = {test.partition("/test_")[2] for test in tests}, set(TESTED_IN)
    assert set(TESTED_IN.values()) <= tests
    for path in MODULES.values():
        module = path.relative_to(ROOT).with_suffix("").as_posix()
        if path.stem in names or path.stem == "__init__" or module.startswith(("benchmarks", "examples")):
            continue
        row = next((pattern for pattern in TESTED_IN if fnmatch.fnmatch(module, pattern)), None)
        assert row, f"no test is named for {module}"
        unused.discard(row)
    assert not unused


def test_every_package_has_a_place_in_the_order() -> None:
    folders = {path.parent.name for path in (ROOT / "ishmem").glob("*/__init__.py")}
    assert {*folders, "kernels", "dpex", "ipc", "benchmarks", "examples"} == set(SUB_PACKAGES)
    assert set(MAY_IMPORT) == {*SUB_PACKAGES, CHAPTERS}


def test_imports_follow_the_order_of_the_packages() -> None:
    assert sorted(against_the_order()) == []


def test_no_modules_import_one_another() -> None:
    assert [sorted(circle) for circle in circles(imports())] == []


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d"}}
    assert list(circles(graph)) == [{"b", "c"}, {"d"}]


def test_both_compilers_have_the_names_of_the_interface() -> None:
    """``dpex/front_end/adapter.py`` takes what the module of the compiler exports, and describes it."""
    ours, theirs = (names_of(FRONT_END / name) for name in ("dpex.py", "numba_dpex/__init__.py"))
    assert ours == theirs
    described = ast.get_docstring(ast.parse((FRONT_END / "adapter.py").read_text())) or ""
    assert [name for name in ours if f"``{name}``" not in described] == []


def names_of(path: Path) -> list[str]:
    """Return ``__all__`` of a file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{path} has no __all__")


def test_one_folder_names_numba_dpex() -> None:
    """It can be deleted together with the two lines that choose it; what depends on it is in a table there."""
    know = {path.relative_to(ROOT) for path in MODULES.values() if "numba_dpex" in path.read_text()}
    folder = (FRONT_END / "numba_dpex").relative_to(ROOT)
    chosen = {folder.with_name(name) for name in ("__init__.py", "adapter.py")}
    assert {path for path in know if folder not in path.parents} == chosen
    ask = {path.relative_to(ROOT) for path in MODULES.values() if "HAS_NUMBA_DPEX" in path.read_text()}
    assert ask == {Path("dpex/__init__.py")}


def test_the_compiler_of_kernels_imports_nothing_of_ishmem() -> None:
    for path in (ROOT / "dpex").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
        assert not {name for name in names if name.split(".")[0] == "ishmem"}, path


def test_reports_name_public_routines() -> None:
    """The names by which reports of kernels name their routines are public ones, each with one number."""
    classes = (ishmem.inference.Communicator, ishmem.moe.Buffer)
    methods = {f"{each.__name__}.{name}" for each in classes for name in dir(each)}
    of_inference = {"all_reduce_work_group", *methods}
    public = set(ishmem.__all__) | of_inference
    assert {name for name in violations.ROUTINES if " " not in name} <= public
    names = [*violations.ROUTINES, *violations.ARGUMENTS]
    assert len(set(names)) == len(names)
