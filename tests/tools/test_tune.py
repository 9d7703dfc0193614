"""ishmem tune, and the profile that it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from subprocesses import program, run_command, run_program, succeeded

from ishmem.benchmarks import tune
from ishmem.common import algorithms
from ishmem.common.collective_table import COLLECTIVES
from ishmem.environment import profile, settings

DEVICE = "Some GPU (of many)"


def chosen(path: Path) -> settings.Settings:
    return settings.Settings(profile=str(path))


def test_a_profile_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tune.ini"
    two = {"put": [(0, "mapped"), (65536, "engine")], "broadcast": [(0, "slot"), (1032, "mapped"), (1 << 20, "tree")]}
    four = {"sum_reduce": [(0, "mapped")]}
    profile.write(path, {profile.section(DEVICE, 2): two, profile.section("Another", 2): four})
    profile.write(path, {profile.section(DEVICE, 4): four})
    assert profile.find(chosen(path), DEVICE, 2) == two
    assert profile.find(chosen(path), DEVICE, 4) == four
    assert profile.find(chosen(path), "Another", 2) == four
    assert "broadcast = slot, mapped:1032, tree:1M" in path.read_text()


def test_the_nearest_number_of_pes_counts(tmp_path: Path) -> None:
    path, tables = tmp_path / "tune.ini", {n: {"broadcast": [(n, "mapped")]} for n in (2, 8)}
    profile.write(path, {profile.section(DEVICE, n): table for n, table in tables.items()})
    for n, nearest in ((1, 2), (3, 2), (5, 2), (6, 8), (100, 8)):
        assert profile.find(chosen(path), DEVICE, n) == tables[nearest]
    assert profile.find(chosen(path), "unknown", 2) == {}


def test_several_nodes_have_sections_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "tune.ini"
    one = {"put": [(0, "mapped"), (65536, "engine")], "broadcast": [(0, "mapped")]}
    two = {"sum_reduce": [(0, "slot"), (2056, "levels")]}
    profile.write(path, {profile.section(DEVICE, 4): one, profile.section(DEVICE, 4, 2): two})
    assert profile.find(chosen(path), DEVICE, 4) == one
    assert profile.find(chosen(path), DEVICE, 8, 2) == {"put": one["put"], **two}
    assert profile.find(chosen(path), DEVICE, 4, 3) == {"put": one["put"]}


def test_the_levels_are_known_to_the_settings() -> None:
    table = algorithms.override(algorithms.defaults(1 << 20), "all=levels:8K,sum_inscan=levels,broadcast=mapped:4K")
    assert table["sum_reduce"] == [(0, "slot"), (4096, "rounds"), (8192, "levels")]
    assert table["sum_inscan"] == [(0, "levels"), (8192, "levels")]
    assert table["broadcast"] == [(0, "slot"), (4096, "mapped"), (8192, "levels")]
    assert all(name != "levels" for _start, name in table["alltoall"])
    with pytest.raises(ValueError, match="has no algorithm 'levels'; allowed are slot, mapped, rounds, engine"):
        algorithms.parse("alltoall=levels")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fcollect = slow", "fcollect has no algorithm 'slow'; allowed are slot, mapped, levels, engine"),
        ("put = slot", "put has no algorithm 'slot'; allowed are mapped, engine"),
        ("alltoallv = slot", "alltoallv has no algorithm 'slot'"),
        ("shout = mapped", "'shout' is no collective routine"),
        ("broadcast = mapped:4X", "not a size: '4X'"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_damaged_profile_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tune.ini"
    path.write_text(f"[{profile.section(DEVICE, 2)}]\n{text}\n")
    with pytest.raises(ValueError, match=r"tune\.ini") as caught:
        profile.find(chosen(path), DEVICE, 2)
    assert said in str(caught.value)
    assert "write it anew with `ishmem tune`" in str(caught.value)


def test_a_profile_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"got .*none\.ini.*, allowed: a file that `ishmem tune` wrote"):
        profile.find(chosen(tmp_path / "none.ini"), DEVICE, 2)


SLOT, MAPPED = {8: 1.0, 128: 1.0, 2048: 4.0}, {8: 2.0, 128: 2.0, 2048: 2.0, 32768: 8.0}


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        # The lines cross where the size has grown by half of its logarithm: from 1/2 to 2 times.
        ({"slot": SLOT, "mapped": MAPPED}, [(0, "slot"), (512, "mapped")]),
        ({"mapped": MAPPED, "slot": SLOT}, [(0, "slot"), (512, "mapped")]),
        # A small gain changes nothing.
        ({"mapped": {8: 1.0, 64: 1.0}, "tree": {8: 0.97, 64: 0.96}}, [(0, "mapped")]),
        # An algorithm that ends is followed by another.
        ({"slot": {8: 1.0, 4096: 1.0}, "mapped": {8: 9.0, 4096: 9.0, 8192: 9.0}}, [(0, "slot"), (4104, "mapped")]),
    ],
    ids=["crossing", "order", "gain", "end"],
)
def test_the_best_algorithm_wins(times: dict[str, dict[int, float]], chosen: list[tuple[int, str]]) -> None:
    assert tune.best(times) == chosen


def test_routines_that_are_not_measured_take_the_algorithms_of_others() -> None:
    times = {"alltoall": {"slot": {8: 1.0, 64: 1.0}, "mapped": {8: 2.0, 64: 2.0}}}
    table = tune.table_of(times)
    assert table == {"alltoall": [(0, "slot")], "alltoalls": [(0, "mapped")], "alltoallv": [(0, "mapped")]}


def test_every_collective_is_tuned() -> None:
    from ishmem.benchmarks import tune_cases

    covered = [*tune_cases.MEASURED, *(each for group in tune_cases.SAME.values() for each in group)]
    assert sorted(covered) == sorted(COLLECTIVES)


@pytest.mark.slow("the other tests of tuning")
def test_tune_measures_and_init_uses_it(tmp_path: Path) -> None:
    path = tmp_path / "tune.ini"
    command = [sys.executable, "-m", "ishmem", "tune", "--pes", "2", "--op", "put,broadcast", "--size", "8,4K"]
    succeeded(run_command([*command, "-o", str(path)], timeout=120))
    assert (tmp_path / "tune.png").read_bytes().startswith(b"\x89PNG")
    (name,) = profile.read(path)
    assert name.endswith(" (simulated), 2 PEs")
    assert set(profile.read(path)[name]) == {"put", "broadcast"}
    # What was measured is not known here; so a table that no machine gives.
    strange = {"broadcast": [(0, "tree"), (24, "mapped")], "put": [(0, "mapped"), (2 << 20, "engine")]}
    profile.write(path, {name: strange})
    shown = run_program(
        program("table_of_algorithms"), 2, env={"ISHMEM_PROFILE": str(path), "ISHMEM_ALGORITHM": "fcollect=mapped"}
    )
    assert shown.stdout.count("table [(0, 'tree'), (24, 'mapped')] ") == 2, shown.stdout + shown.stderr
    # fcollect was not measured: the default, where large copies are the copy engine's as the profile says.
    assert shown.stdout.count("(2097152, 'engine')] 'fcollect=mapped'") == 2, shown.stdout


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    wrong = {"--op shout": "'shout' is not tuned", "--pes two": "two", "--size 8X": "8X"}
    for options, said in wrong.items():
        done = run_command([sys.executable, "-m", "ishmem", "tune", "-o", str(tmp_path / "x.ini"), *options.split()])
        assert done.returncode == 2
        assert said in done.stderr
    assert not list(tmp_path.iterdir())
