"""``__all__``, the type stub and the package agree, also on routines that are derived from others."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import ishmem
from tools import type_stub

SPELT_OUT = [routine for routines in type_stub.derived().values() for routine in routines]
DERIVED = [routine for routine in SPELT_OUT if routine.__name__.endswith(("_work_group", "_on_queue"))]


def test_the_stub_of_a_build_is_that_of_the_package(tmp_path: Path) -> None:
    """A build imports neither the core nor other packages."""
    stub = tmp_path / "__init__.pyi"
    subprocess.run([sys.executable, "-I", "-S", type_stub.__file__, stub], check=True)
    assert stub.read_text() == type_stub.render()
    assert Path(ishmem._core.__file__).with_name(stub.name).exists()


def test_the_core_has_the_names_of_its_stub() -> None:
    for each in ast.parse(Path(ishmem.__file__).with_name("_core.pyi").read_text()).body:
        name = getattr(each, "name", getattr(getattr(each, "target", None), "id", "__name__"))
        assert hasattr(ishmem._core, name), name
        if isinstance(each, ast.ClassDef):
            methods = [part.name for part in each.body if isinstance(part, ast.FunctionDef)]
            assert not [method for method in methods if not hasattr(getattr(ishmem._core, name), method)], name


@pytest.mark.parametrize("routine", DERIVED, ids=lambda routine: routine.__name__)
def test_a_derived_routine_has_the_parameters_of_its_base(routine) -> None:
    assert getattr(importlib.import_module(routine.__module__), routine.__name__) is routine
    base = getattr(ishmem, routine.__name__.replace("_work_group", "").replace("_on_queue", ""))
    in_kernels = hasattr(routine, "kernel_only")
    expected = set(inspect.signature(base).parameters) - ({"timeout", "dtype"} if in_kernels else {"timeout"})
    has_result = inspect.signature(base).return_annotation == "int"
    added = {"group"} if in_kernels else {"sycl_queue", "depends", *(["ret"] if has_result else [])}
    assert set(inspect.signature(routine).parameters) == expected | added
    assert "Source:" in routine.__doc__


@pytest.mark.parametrize(
    ("given", "named", "words"),
    [(5, {}, "missing.*'pe'"), (9, {}, "too many"), (6, {"dst": 1}, "multiple.*'dst'"), (5, {"to": 1}, "'pe'|'to'")],
)
def test_wrong_arguments_of_a_form_on_queues(given: int, named: dict[str, int], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        ishmem.iput_on_queue(*range(given), **named)


def test_the_version_is_the_installed_one() -> None:
    assert ishmem.__version__ == importlib.metadata.version("ishmem4py")


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python suggests names from 3.10 on")
def test_a_misspelt_name_gets_a_suggestion() -> None:
    done = subprocess.run([sys.executable, "-c", "import ishmem; ishmem.barier_all()"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "no attribute 'barier_all'. Did you mean: 'barrier_all'?" in done.stderr


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An access costs no more than that of another module, whatever lazy_loader keeps."""
    put = ishmem.put
    monkeypatch.setattr(ishmem, "_import", lambda _name: object())
    monkeypatch.delitem(vars(ishmem), "put")
    assert ishmem.put is ishmem.put is not put
