"""The settings that choose an emulated card, and the errors where there is none.

Tests that need Intel's driver are skipped where `.ci/card` has not put it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import program

from ishmem.environment import card

ON_CARD = pytest.mark.skipif(bool(card.problem()), reason=f"no emulated card: {card.problem()}")


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("ISHMEM_DEVICE", card.VARIABLE)}
    return subprocess.run(command, env={**kept, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("cards", "devices", "wanted"),
    [("b580", 4, "b580:4"), ("max1550", 3, "max1550:2"), ("b580:2", 4, "b580:2"), ("b580,lnl", 4, "b580,lnl"),
     ("b580", 100, "b580:8")],
)  # fmt: skip
def test_one_device_for_each_pe(cards: str, devices: int, wanted: str) -> None:
    assert card.for_devices(cards, devices) == wanted


@pytest.mark.parametrize("wrong", ["a9", "b580:0", "b580:9", "b580,", "b580 lnl"])
def test_an_unknown_card_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISHMEM_DEVICE", raising=False)
    monkeypatch.setenv(card.VARIABLE, wrong)
    with pytest.raises(ValueError, match=f"ISHMEM_CARD: got '{wrong}', allowed: b580, max1550, lnl"):
        card.requested()


@pytest.mark.slow("tests/tools/test_doctor.py")
def test_missing_packages_are_named(tmp_path: Path) -> None:
    """The error and the doctor name the packages and how to get them."""
    if not card.emulator():
        pytest.skip("the emulator was not built")
    given = {card.VARIABLE: "b580", card.DRIVERS: str(tmp_path)}
    done = run(sys.executable, "-c", "import ishmem; ishmem.init()", **given)
    for word in ("libze-intel-gpu1", "libze1", "libigc2", "libigdgmm12", "apt install"):
        assert word in done.stderr, done.stderr
    done = run(sys.executable, "-m", "ishmem", "doctor", **given)
    assert "the emulated card needs Intel's packages libigc2, libigdgmm12, libze-intel-gpu1, libze1" in done.stdout


@pytest.mark.slow("tests/job/test_faults.py")
@ON_CARD
def test_a_kernel_that_waits_for_a_later_one_is_reported() -> None:
    """A kernel that waits for a later one of its queue: the report names both."""
    command = (sys.executable, "-m", "ishmem", "run", "-n", "1", sys.executable, str(program("kernels_in_turn")), "one")
    done = run(*command, ISHMEM_CARD="b580", ISHMEM_SYMMETRIC_SIZE="16M", ISHMEM_TIMEOUT="10")
    assert done.returncode == 124 and "of the kernels waiter, setter, one that waits" in done.stderr, done


_LAYER = {
    "ZE_ENABLE_VALIDATION_LAYER": "1", "ZE_ENABLE_PARAMETER_VALIDATION": "1", "ZE_ENABLE_THREADING_VALIDATION": "1",
    "ZEL_ENABLE_CERTIFICATION_CHECKER": "1", "ZEL_ENABLE_LOADER_LOGGING": "1", "ZEL_LOADER_LOGGING_LEVEL": "trace",
    "ZEL_LOADER_LOG_CONSOLE": "1",
}  # fmt: skip
_NO_FAULTS = {
    ("NOT_READY", "zeEventQueryStatus"), ("ERROR_UNSUPPORTED_VERSION", "zeCommandListIsGraphCaptureEnabledExt"),
}  # fmt: skip
"""Results that are answers; SYCL asks for what came with a later Level Zero than this driver's."""


@ON_CARD
@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("job_under_the_loader", set()),
        ("wrong_flag_for_the_driver", {("ERROR_INVALID_ENUMERATION", "zeContextCreate")}),
    ],
)
def test_the_validation_layer_refuses_wrong_calls_only(name: str, refused: set[tuple[str, str]]) -> None:
    """The loader's validation layer and Intel's driver refuse no call of a job, and the layer refuses a wrong one."""
    folder = card.folder()
    if not folder or not (folder / "libze_validation_layer.so.1").exists():
        pytest.skip("no validation layer beside the emulated card's loader")
    command = (sys.executable, "-m", "ishmem", "run", "-n", "2", str(program(name)))
    done = run(*command, ISHMEM_CARD="b580", ISHMEM_COPY_CUTOVER="1K", **_LAYER)
    text = done.stdout + done.stderr
    found = set(re.findall(r"ERROR \(ZE_RESULT_(\w+)\) in (ze\w+)\(", text)) - _NO_FAULTS
    assert done.returncode == 0 and "Validation Layer Enabled" in text, text
    assert found == refused


def test_tables_of_cards_agree() -> None:
    """Python's, which has to be there before the emulator is loaded, and the emulator's."""
    table = (Path(__file__).parents[2] / "emulator" / "cards" / "table.cpp").read_text()
    names = re.findall(r"\boption = \"(\w+)\"", table)
    assert dict(zip(names, map(int, re.findall(r"\btiles = (\d+)", table)), strict=True)) == card.TILES


_UNLIKE = """
import ishmem
ishmem.init()
me = ishmem.my_pe()
a = ishmem.zeros(2, dtype="int64")
ishmem.p(a, me + 1, 1 - me)
ishmem.barrier_all()
old = ishmem.atomic_fetch_add(a, 5, 1 - me)
ishmem.barrier_all()
print(me, a.sycl_device.name, old, a.asnumpy().tolist())
ishmem.finalize()
"""


@pytest.mark.slow("one card")
@ON_CARD
def test_each_pe_has_a_card_of_its_own(tmp_path: Path) -> None:
    """Each PE has one, though Intel's driver has two Level Zero drivers."""
    program = tmp_path / "unlike.py"
    program.write_text(_UNLIKE)
    done = run(sys.executable, "-m", "ishmem", "run", "--card", "b580,lnl", "-n", "2", str(program))
    assert "0 Intel(R) Arc(TM) B580 Graphics 1 [7, 0]" in done.stdout, done.stdout + done.stderr
    assert "1 Intel(R) Arc(TM) Graphics 2 [6, 0]" in done.stdout, done.stdout + done.stderr


@ON_CARD
def test_a_card_set_after_the_start_of_python_is_refused() -> None:
    code = "import os; os.environ['ISHMEM_CARD'] = 'b580'; import ishmem; ishmem.init()"
    assert "set ISHMEM_CARD before Python starts" in run(sys.executable, "-c", code).stderr


_PROCESS = """
import json, sys
print(json.dumps([sys.argv, sys.orig_argv, sys.executable, sys.prefix, sys.stdin.read()]))
"""


@ON_CARD
def test_a_process_on_a_card_is_like_any_other() -> None:
    """Arguments, interpreter, environment and input of the program are those of a process without a card."""
    command = [sys.executable, "-X", "utf8", "-c", _PROCESS, "one", "--two"]
    found = []
    for variables in ({}, {card.VARIABLE: "b580"}):
        environment = {**os.environ, **variables, "ISHMEM_DEVICE": ""}
        done = subprocess.run(command, env=environment, input="text", capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]


@ON_CARD
def test_children_are_on_the_card() -> None:
    child = "import subprocess, sys; from ishmem.environment import card; print(card.is_active()); sys.stdout.flush(); "
    code = child + f"subprocess.run([sys.executable, '-c', {child!r}])"
    assert run(sys.executable, "-c", code, **{card.VARIABLE: "b580"}).stdout.split() == ["True", "True"]
    simulated = run(sys.executable, "-c", code, **{card.VARIABLE: "b580", "ISHMEM_DEVICE": "sim"})
    assert simulated.stdout.split() == ["False", "False"]


def test_sim_and_card_exclude_each_other() -> None:
    done = run(sys.executable, "-m", "ishmem", "run", "-n", "1", "--sim", "1", "--card", "b580", "-c", "pass")
    assert "--sim and --card: got both" in done.stderr
