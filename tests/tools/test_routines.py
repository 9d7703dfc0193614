"""The table of routines has a row for each routine that ``ishmem`` exports, and each row is true."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

import ishmem
from ishmem.common import routines, violations
from ishmem.common.routines import CHAPTERS, GROUP, ROUTINES, CRoutine, Data, Routine, Waits, c_name
from ishmem.kernels.intrinsics import registered

ROWS = [row for chapter in CHAPTERS for row in chapter.rows]
PLACES = {name: module for row in ROUTINES.values() for module, name in row.locations}


def is_routine(value: object) -> bool:
    return callable(value) and not inspect.isclass(value) and type(value).__module__ != "ishmem.teams"


def test_each_exported_routine_has_one_row() -> None:
    exported = {name for name in ishmem.__all__ if is_routine(getattr(ishmem, name))} - {"CTX_DEFAULT", "CTX_INVALID"}
    assert exported == set(PLACES)
    rows = Counter(row.name for row in ROWS if isinstance(row, Routine))
    assert set(rows.values()) == {1}
    assert set(rows) == set(ROUTINES)


def test_each_row_has_functions_in_its_module() -> None:
    """That they are what ``ishmem`` exports is in test_structure.py."""
    for name, module in PLACES.items():
        found = getattr(ishmem, name)
        assert (found.__name__, found.__module__) == (name, f"ishmem.{module}")


def test_each_c_routine_without_a_routine_says_why() -> None:
    for row in ROWS:
        if isinstance(row, CRoutine):
            assert bool(row.name) != bool(row.absent), row
            assert not row.name or row.name in ROUTINES, row
    names = [c_name(row) for row in ROWS if row.c]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", [row for row in ROUTINES.values() if row.c], ids=c_name)
def test_docstrings_name_the_routine_of_c(row: Routine) -> None:
    assert c_name(row) in (inspect.getdoc(getattr(ishmem, row.name)) or "")


def test_the_modules_of_a_chapter_are_those_of_the_rows() -> None:
    modules = [module for chapter in CHAPTERS for module in chapter.modules]
    assert len(set(modules)) == len(modules)
    assert {row.module for row in ROUTINES.values()} == set(modules) - {"graph", "inference", "moe"}


@pytest.mark.parametrize("name", ROUTINES)
def test_the_direction_of_data_follows_from_the_parameters(name: str) -> None:
    """A put goes to a symmetric ``dest`` or ``sig_addr`` of a PE, a get comes from a symmetric ``source``."""
    function = getattr(ishmem, name)
    parameters = inspect.signature(function).parameters
    remote = [each for each in ("dest", "sig_addr", "source") if each in parameters]
    arrays = [each for each in remote if str(parameters[each].annotation) == "ndarray"]
    expected = Data.NONE
    if "pe" in parameters and arrays:
        expected = Data.GET if arrays[0] == "source" else Data.PUT
    assert ROUTINES[name].data is expected


def test_forms_for_work_groups_are_registered_for_kernels() -> None:
    for row in ROUTINES.values():
        assert (GROUP in row.forms) == (getattr(ishmem, f"{row.name}{GROUP}", None) in registered), row.name


def test_calls_of_methods_and_forms() -> None:
    assert routines.of_call("put") == (Data.PUT, Waits.NOTHING)
    assert routines.of_call("get_on_queue") == (Data.GET, Waits.NOTHING)
    assert routines.of_call("sum_reduce_on_queue") == (Data.NONE, Waits.NOTHING)
    assert routines.of_call("sync", "Team") == (Data.NONE, Waits.PES)
    assert routines.of_call("atomic_fetch", "Ctx") == (Data.GET, Waits.NOTHING)
    assert routines.of_call("wait_until_any") == (Data.NONE, Waits.VARIABLE)
    assert routines.of_call("call_kernel") == (Data.NONE, Waits.NOTHING)


def test_a_call_id_has_room_for_all_routines() -> None:
    assert len(violations.ROUTINES) <= 1 << 8
