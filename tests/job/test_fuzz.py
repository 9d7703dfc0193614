"""Random input: bad calls of every routine, settings, profiles, damaged SPIR-V. Documented errors, never a crash."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings as limits, strategies as st
from subprocesses import program, run_program

from ishmem.common import algorithms
from ishmem.common.collective_table import COLLECTIVES
from ishmem.dpex import spirv
from ishmem.environment import profile, settings

HERE = Path(__file__).parents[1]
PROGRAM = HERE / "reliability" / "calls_pe.py"


@pytest.mark.parametrize("n", [1, 2])
def test_random_bad_calls(n: int) -> None:
    done = run_program(PROGRAM, n, "600", "20", options=["--no-prefix"])
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == [] and sum(found["done"].values()) == 600
    assert found["done"]["TypeError"] > 100 and found["done"]["returned"] > 20


# ---- settings

WORDS = [
    *("", " ", ",", "=", ":", "-", ".", "/", "~", "~no user/", "%", "\n", "[", "]", "#", "all", "broadcast", "put"),
    *("slot", "mapped", "tree", "engine", "64K", "1.5g", "0", "1", "9" * 30, "1e9", "nan", "0x10", "true", "auto"),
    *("x" * 300, "DEFAULT", "GPU, ", "2 PEs", "GPU, 2 PEs", "GPU, x PEs"),
]
plain = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXT = st.lists(st.sampled_from(WORDS) | st.text(plain, max_size=3), max_size=12).map("".join) | st.text(plain)
FEW = limits(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))


def loaded(name: str, text: str) -> settings.Settings | None:
    """Return the settings with one variable set, or None when it is refused as the documentation says."""
    with pytest.MonkeyPatch.context() as patch:
        for known in settings.known():
            patch.delenv(known, raising=False)
        patch.setenv(name, text)
        try:
            return settings.load()
        except ValueError as error:
            said = str(error)
    assert re.match(r"ISHMEM_\w+(, ISHMEM_\w+)*: got .*, allowed: ", said, re.DOTALL)
    return None


@FEW
@given(st.sampled_from(sorted(settings.FIELDS)), TEXT)
@example("ISHMEM_KERNEL_CACHE", "~no user/x")
def test_any_text_in_a_setting(name: str, text: str) -> None:
    """It is taken, or refused in the words of the documentation: `loaded` fails at any other exception."""
    assume(name != "ISHMEM_PROFILE")
    loaded(name, text)


@FEW
@given(TEXT)
@example("all=slot:0,broadcast = tree")
def test_any_text_as_algorithms(text: str) -> None:
    found = loaded("ISHMEM_ALGORITHM", text)
    if found is None:
        return
    table = algorithms.override(algorithms.defaults(1 << 20), found.algorithm)
    for routine in COLLECTIVES:
        starts = [start for start, _name in table[routine]]
        assert starts == sorted(starts) and starts[0] == 0
        assert {name for _start, name in table[routine]} <= set(algorithms.allowed(routine))


@FEW
@given(TEXT.map(str.encode) | st.binary(max_size=60))
@example(b"[GPU, x PEs]\n")
@example(b"[GPU, ]\nput = mapped")
@example(b"[GPU, 2 PEs]\nput\n mapped")
def test_any_bytes_as_profile(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tune.ini")
        path.write_bytes(content)
        found, said = {}, f"{path}: write it anew"
        try:
            found = profile.find(settings.Settings(profile=str(path)), "GPU", 2)
        except ValueError as error:
            said = str(error)
    assert said.startswith(f"{path}: ") and "write it anew" in said
    for routine, entries in found.items():
        assert routine in (*COLLECTIVES, "put")
        assert entries == sorted(entries)


@FEW
@given(TEXT.filter(bool))
@example("~no user/x")
@example("x" * 300)
def test_any_path_of_a_profile(text: str) -> None:
    with pytest.raises(ValueError, match=r"ISHMEM_PROFILE: got .*, allowed: |write it anew"):
        profile.find(settings.Settings(profile=text), "GPU", 2)


DEVICES = """
from ctypes import CDLL, byref, c_uint32, c_void_p
from ishmem.environment import stack
ze = CDLL(str(stack.simulator()))
driver, one, count = c_void_p(), c_uint32(1), c_uint32()
assert ze.zeInit(0) == 0 and ze.zeDriverGet(byref(one), byref(driver)) == 0
assert ze.zeDeviceGet(driver, byref(count), None) == 0
print(count.value)
"""


@pytest.mark.slow("checks the simulator only")
@limits(FEW, max_examples=25, derandomize=True)
@given(st.lists(TEXT, min_size=len(settings.SIMULATOR), max_size=len(settings.SIMULATOR)))
@example([str(2**32 - 1)] * len(settings.SIMULATOR))
@example(["\t-1"] * len(settings.SIMULATOR))
def test_any_text_in_a_setting_of_the_simulator(texts: list[str]) -> None:
    """An invalid value is reported on stderr, and the default is used."""
    names = [f"ISHMEM_{name}" for name in settings.SIMULATOR if name not in ("SIM_TRACE", "SIM_LOADER")]
    environment = {**os.environ, **dict(zip(names, texts))}
    done = subprocess.run([sys.executable, "-c", DEVICES], env=environment, capture_output=True, timeout=60)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0, said
    assert int(done.stdout) == 1 or (int(done.stdout) <= 1024 and "SIM_DEVICES" not in said)
    assert all(re.match(r"\d+\] ISHMEM_SIM_\w+=", line) for line in said.split("[simulator ")[1:])


# ---- SPIR-V

WORD = 4


@st.composite
def damaged(draw: st.DrawFn, code: bytes) -> bytes:
    """Return a module with a few changes of bits, words and lengths."""
    words = [code[at : at + WORD] for at in range(0, len(code), WORD)]
    starts = instructions(code)
    place = st.integers(0, len(words) - 1)
    for kind in draw(st.lists(st.sampled_from(["bit", "number", "swap", "length", "remove", "repeat"]), max_size=4)):
        at = draw(place if kind in ("bit", "number", "swap") else st.sampled_from(starts)) % len(words)
        word = int.from_bytes(words[at], "little")
        if kind == "bit":
            word ^= 1 << draw(st.integers(0, 31))
        elif kind == "number":
            word = draw(st.sampled_from([0, 1, 2, 8, 64, 0x7FFF, 0xFFFF, 1 << 20, 2**31, 2**32 - 1]))
        elif kind == "length":
            word = word & 0xFFFF | draw(st.integers(0, 6)) << 16
        elif kind == "swap":
            other = draw(place) % len(words)
            words[other], word = words[at], int.from_bytes(words[other], "little")
        elif kind == "remove":
            del words[at : at + draw(st.integers(1, 3))]
            words = words or [b"\0" * WORD]
            continue
        else:
            words[at:at] = words[at : at + draw(st.integers(1, 8))]
            continue
        words[at] = word.to_bytes(WORD, "little")
    if draw(st.booleans()):
        return b"".join(words)[: draw(st.integers(0, WORD * len(words)))]
    return b"".join(shortened(draw, words, starts)) if draw(st.booleans()) else b"".join(words)


def instructions(code: bytes) -> list[int]:
    """Return the offsets of a module's instructions, in words."""
    starts, at = [], 5
    while WORD * at < len(code):
        starts.append(at)
        at += int.from_bytes(code[WORD * at + 2 : WORD * at + 4], "little")
    return starts


def shortened(draw: st.DrawFn, words: list[bytes], starts: list[int]) -> list[bytes]:
    """Let a module end with one of its instructions, of which the last words are missing, and which says so."""
    at = draw(st.sampled_from(starts)) % len(words)
    left = draw(st.integers(1, 4))
    return [*words[:at], words[at][:2] + left.to_bytes(2, "little"), *words[at + 1 : at + left]]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a kernel, and return the file that its module is in."""
    folder = tmp_path_factory.mktemp("modules")
    done = run_program(program("write_spirv"), 1, str(folder / "spirv"), env={"ISHMEM_KERNEL_CACHE": str(folder)})
    assert done.returncode == 0, done.stderr
    return folder / "spirv"


def test_damaged_modules_in_python(real: Path) -> None:
    @limits(FEW, max_examples=200)
    @given(damaged(real.read_bytes()))
    def check(code: bytes) -> None:
        for read in (lambda: spirv.patched(code, {0: 5, 1: 2**62}), lambda: spirv.has_constant(code, 0, 2**62)):
            try:
                result = read()
            except ValueError:
                continue
            assert isinstance(result, bool) or len(result) == len(code)

    check()


def check_reader(path: str) -> None:
    """Give damaged modules to the simulator, as SPIR-V and as native binaries, and print what comes of them."""
    import test_simulator as t

    from ishmem.ipc import pyze

    ze, made, seen = t.Level0(), Path(path).read_bytes(), set()
    binary = native(made)
    constants = t.constants(dict.fromkeys(range(10), 1))

    @limits(FEW, max_examples=1200, derandomize=True, database=None)
    @given(damaged(t.spirv()) | damaged(made) | damaged(binary), st.booleans())
    def check(code: bytes, special: bool) -> None:
        table = ctypes.addressof(constants) if special else None
        is_native = code[:2] == binary[:2]
        try:
            t.build(ze, format=is_native, inputSize=len(code), pInputModule=code, pConstants=table)
        except t.LevelZeroError as error:
            seen.add(pyze.result_name(error.code).removeprefix("ZE_RESULT_ERROR_"))

    check()
    print(*sorted(seen))


def native(code: bytes) -> bytes:
    """Return the simulator's native binary of a module with one constant."""
    numbers = [len(code).to_bytes(8, "little"), code, *((n).to_bytes(8, "little") for n in (0, 1, 7, 8, 100))]
    return b"ze_simulator native 1\n" + b"".join(numbers)


@pytest.mark.slow("checks the simulator only")
def test_damaged_modules_in_the_simulator(real: Path) -> None:
    """They are accepted or refused by the reader; as there is no compiler, what it accepts goes no further."""
    code = f"import ishmem, test_fuzz; test_fuzz.check_reader({str(real)!r})"
    environment = {**os.environ, "ISHMEM_SIM_OPENCL": "/nowhere", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.returncode}\n{done.stderr}"
    assert done.stdout.split() == [
        "DEPENDENCY_UNAVAILABLE", "INVALID_NATIVE_BINARY", "INVALID_SIZE", "MODULE_BUILD_FAILURE",
    ]  # fmt: skip
