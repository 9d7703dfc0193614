"""What ``make gpu-compile`` makes of kept kernels, with a compiler that is not there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from ishmem.dpex import spirv
from tools import spirv_validator
from tools.gpu_compiler import Binary, Refused

PROGRAM = Path(__file__).parents[1] / "gpu_compile" / "__main__.py"
SPEC = importlib.util.spec_from_file_location("gpu_compile_program", PROGRAM)
program: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(program)

KERNEL = program.Kernel("module.kernel", b"code", "ab" * 32)
MADE = Binary(32, 128, 0)
NO_DOUBLE = "error: Double type is not supported on this platform."


class Compiler:
    devices: dict[str, str]

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def compile(self, code: bytes, device: str) -> Binary:
        answer = self.answers.pop(0)
        if isinstance(answer, Binary):
            return answer
        raise Refused(answer)


def test_a_second_run_compiles_nothing_but_what_is_damaged(tmp_path: Path) -> None:
    compiler = Compiler(MADE, MADE)
    found = [program.result(compiler, tmp_path, KERNEL, "pvc") for _ in range(2)]
    assert found == [program.Result(32, 128, 0)] * 2 and len(compiler.answers) == 1
    (tmp_path / f"{KERNEL.hash[:32]}-pvc.json").write_text('{"simd": ')
    assert program.result(compiler, tmp_path, KERNEL, "pvc").simd == 32 and not compiler.answers


def _compilers() -> list[Any]:
    compilers = [Compiler(), Compiler()]
    for compiler, devices in zip(compilers, (program.DEVICES, program.NEWER_DEVICES)):
        compiler.devices = devices
    return compilers


def test_the_newest_compiler_of_each_device_is_chosen() -> None:
    older, newer = _compilers()
    assert program.chosen([older, newer], []) == [older, newer]
    assert program.chosen([older, newer], ["pvc", "bmg-g21"]) == [newer]
    assert set(newer.devices) == {"pvc", "bmg-g21"}
    with pytest.raises(SystemExit, match="no compiler is known for tpu; allowed: pvc"):
        program.chosen(_compilers(), ["tpu"])


@pytest.mark.parametrize(
    ("device", "said", "status"), [("pvc", "crashed", 1), ("pvc", NO_DOUBLE, 1), ("dg2", NO_DOUBLE, 0)]
)
def test_a_kernel_that_does_not_compile(
    device: str, said: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = program.result(Compiler(said), tmp_path, KERNEL, device)
    assert program.tell({(KERNEL, device): found}) == status
    printed = capsys.readouterr().out
    assert ("FAILED: module.kernel" in printed, "known: module.kernel" in printed) == (status == 1, status == 0)
    assert "does not compile" in program.table({(KERNEL, device): found})
    assert program.tell({}) == 1, "no kernel is a failure"


def test_without_a_compiler_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(program, "ROOT", tmp_path)
    assert program.main() == 0
    assert capsys.readouterr().out.count("SKIPPED") == 2


def test_a_module_that_is_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    validator = tmp_path / "spirv-val"
    validator.write_text("#!/bin/sh\ngrep -q valid && exit 0; echo error: line 5; exit 1\n")
    validator.chmod(0o755)
    assert spirv_validator.find(tmp_path) == str(validator)
    valid = KERNEL._replace(code=b"valid")
    assert program.validate(str(validator), [valid]) == 0
    assert program.validate(str(validator), [valid, KERNEL]) == 1
    assert "2 kernels; 1 are not valid\n  FAILED: module.kernel, abab" in capsys.readouterr().out


def test_the_validator_knows_a_damaged_module() -> None:
    validator = spirv_validator.find(PROGRAM.parents[2] / spirv_validator.FETCHED)
    if not validator:
        pytest.skip("no spirv-val: run .ci/spirv-val")
    header = bytes([3, 2, 35, 7, 0, 4, 1, 0]) + bytes(4) + bytes([9, 0, 0, 0]) + bytes(4)
    module = [(17, (4,)), (17, (5,)), (17, (6,)), (14, (2, 2))]  # Addresses, Linkage and Kernel, then the memory model
    assert spirv_validator.fault(validator, spirv.assembled(header, module, 9)) == ""
    assert "OpMemoryModel" in spirv_validator.fault(validator, spirv.assembled(header, module[:-1], 9))
