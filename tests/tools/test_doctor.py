"""``ishmem doctor``: each finding on a machine that has the condition, and the command on this one."""

from __future__ import annotations

import _ctypes
import json
import os
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import pytest
from click.testing import CliRunner

from ishmem import dpex
from ishmem.cli import doctor, doctor_mpi, findings as findings_module, precompile, report
from ishmem.cli.findings import Finding, Machine, Severity, ok
from ishmem.environment import mpi_library, pinned_libraries, stack
from ishmem.runtime import kernel_loading

BUILD = Path(__file__).parents[2] / "build"


def found(check: Callable[[Machine], Any], root: Path | str = "/", **environ: str) -> list[Finding]:
    return list(check(Machine(Path(root), environ)))


def expect(findings: list[Finding], state: Severity, text: str, mend: str = "") -> None:
    assert any(one.severity is state and text in one.text and mend in one.mend for one in findings), findings
    assert all(bool(one.mend) == (one.severity is not Severity.OK) for one in findings)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_pythons_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    expect(found(doctor.check_python), Severity.OK, "Python 3.")
    monkeypatch.setattr(sys, "version_info", (3, 15, 0))
    expect(found(doctor.check_python), Severity.WRONG, "Python 3.15.0", "another Python")


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="for ishmem.dpex")
def test_device_functions_of_another_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kernel_loading, "INSTALLED", tmp_path)
    environ = dict(os.environ)
    expect(found(doctor.check_device_functions, **environ), Severity.OK, "no device functions are compiled ahead")
    write(tmp_path / kernel_loading.VERSION, precompile.version())
    expect(found(doctor.check_device_functions, **environ), Severity.OK, "device functions of usual calls")
    write(tmp_path / kernel_loading.VERSION, "of another version")
    expect(found(doctor.check_device_functions, **environ), Severity.WARNING, "not used", "ishmem precompile")


def test_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expect(found(doctor.check_cache, ISHMEM_KERNEL_CACHE=f"{tmp_path}/new/one"), Severity.OK, f"kept in {tmp_path}/new")
    expect(found(doctor.check_cache, ISHMEM_KERNEL_CACHE="off"), Severity.OK, "ISHMEM_KERNEL_CACHE=off")
    monkeypatch.setattr(os, "access", lambda path, _mode: path != tmp_path)
    findings = found(doctor.check_cache, ISHMEM_KERNEL_CACHE=f"{tmp_path}/new")
    expect(findings, Severity.WARNING, f"{tmp_path}/new cannot be written", "ISHMEM_KERNEL_CACHE")


def test_packages_that_are_missing_or_old(monkeypatch: pytest.MonkeyPatch) -> None:
    expect(found(doctor.check_packages), Severity.OK, "versions that fit")
    real = metadata.version

    def version(name: str) -> str:
        if name == "rich":
            raise metadata.PackageNotFoundError(name)
        return "2023.1.0" if name == "intel-opencl-rt" else real(name)

    monkeypatch.setattr(metadata, "version", version)
    findings = found(doctor.check_packages)
    expect(findings, Severity.WRONG, "intel-opencl-rt is 2023.1.0, not >=2024.2.2", "anew")
    expect(findings, Severity.WRONG, "rich is missing")


def test_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ours, theirs = str(Path(sys.executable).parent), tmp_path / "ishmrun"
    expect(found(doctor.check_names, PATH=ours), Severity.OK, "no other ishmrun")
    expect(found(doctor.check_names, PATH=""), Severity.OK, "not on PATH")
    theirs.write_text("#!/bin/sh\nmpiexec.hydra $@\n")
    theirs.chmod(0o755)
    findings = found(doctor.check_names, PATH=f"{tmp_path}:{ours}")
    expect(findings, Severity.WARNING, f"another program, {theirs}", "ishmem run")
    expect(found(doctor.check_names, PATH=f"{ours}:{tmp_path}"), Severity.OK, "no other ishmrun")
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.6.0" if name == "ishmem" else real(name))
    expect(found(doctor.check_names, PATH=ours), Severity.WARNING, "ishmem 1.6.0 is Intel SHMEM's", "uninstall ishmem,")


def test_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expect(found(doctor.check_libraries), Severity.OK, "libraries of SYCL")
    monkeypatch.setattr(stack, "library_folder", lambda: tmp_path)
    expect(found(doctor.check_libraries), Severity.WRONG, "the Level Zero plugin of SYCL (intel-cmplr-lib-ur)", "pip")
    monkeypatch.setattr(pinned_libraries, "apply", lambda: True)
    monkeypatch.setattr(pinned_libraries, "LIBRARIES", {"libthere_is_none.so.7": "no-such-package==1.0"})
    expect(found(doctor.check_libraries), Severity.WRONG, "libthere_is_none.so.7 (no-such-package==1.0)")

    def missing() -> Path:
        raise ImportError("libintelocl.so is nowhere")

    monkeypatch.setattr(stack, "library_folder", missing)
    expect(found(doctor.check_libraries), Severity.WRONG, "nowhere", "anew")


def test_variables(tmp_path: Path) -> None:
    expect(found(doctor.check_variables, LD_LIBRARY_PATH=str(stack.library_folder())), Severity.OK, "first")
    write(tmp_path / "opt/intel/lib/libsycl.so.8", "")
    findings = found(doctor.check_variables, tmp_path, LD_LIBRARY_PATH="/nothing::/opt/intel/lib")
    expect(findings, Severity.WARNING, "/opt/intel/lib/libsycl.so.8", "setvars.sh")
    expect(found(doctor.check_variables, OCL_ICD_FILENAMES="/opt/libx.so"), Severity.WARNING, "/opt/libx.so", "unset")


def test_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expect(found(doctor.check_nodes, tmp_path), Severity.WARNING, "no Intel GPU", "simulator")
    for name, vendor in (("renderD128", "0x8086"), ("renderD129", "0x10de")):
        write(tmp_path / "dev/dri" / name, "")
        write(tmp_path / f"sys/class/drm/{name}/device/vendor", vendor + "\n")
    expect(found(doctor.check_nodes, tmp_path), Severity.OK, "1 Intel GPUs")
    monkeypatch.setattr(os, "access", lambda *_: False)
    expect(found(doctor.check_nodes, tmp_path), Severity.WRONG, "no permission for /dev/dri/renderD128", "render,video")


def test_hierarchy() -> None:
    check = doctor.check_hierarchy
    expect(found(check), Severity.OK, "every device")
    expect(found(check, ONEAPI_DEVICE_SELECTOR="level_zero:0"), Severity.OK, "every device")
    expect(found(check, ZE_FLAT_DEVICE_HIERARCHY="COMPOSITE"), Severity.WARNING, "COMPOSITE", "FLAT")
    expect(found(check, ZE_AFFINITY_MASK="0"), Severity.OK, "ZE_AFFINITY_MASK=0 leaves some devices")
    expect(found(check, ONEAPI_DEVICE_SELECTOR="opencl:cpu"), Severity.WRONG, "opencl:cpu", "unset")
    both = found(check, ZE_AFFINITY_MASK="0", ONEAPI_DEVICE_SELECTOR="level_zero:1")
    expect(both, Severity.WARNING, "counts within", "one only")


def answer(monkeypatch: pytest.MonkeyPatch, status: int, out: str, error: str = "") -> None:
    done = subprocess.CompletedProcess([], status, out, error)
    for module in (doctor, doctor_mpi):
        monkeypatch.setattr(module, "python", lambda *_: done)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, 0, "gpu\n4\n4\n")
    expect(found(doctor.check_devices), Severity.OK, "the driver shows 4 devices")
    lacking = "lacks /lib/libze_loader.so.1 zeImageViewCreateExt\n"
    answer(monkeypatch, 0, f"gpu\n1\n1\ndriver 1.3.508 1 3\n{lacking}engines 1\n")
    findings = found(doctor.check_devices)
    expect(findings, Severity.OK, "driver 1.3.508, Level Zero 1.3")
    expect(findings, Severity.WRONG, "libze_loader.so.1 lacks zeImageViewCreateExt, which SYCL", "level-zero 1.18")
    expect(findings, Severity.OK, "kernels of 1 processes concurrently: one PE for each device")
    answer(monkeypatch, -11, "gpu\nlacks /lib/libze_loader.so.1 zeInitDrivers\n1\n")
    findings = found(doctor.check_devices)
    expect(findings, Severity.WRONG, "lacks zeInitDrivers, and SYCL has crashed", "level-zero 1.18")
    expect(findings, Severity.WRONG, "ended by signal 11", "driver")
    answer(monkeypatch, 0, "gpu\nlacks /lib/libze_loader.so.1 zeInitDrivers\n1\n1\n")
    findings = found(doctor.check_devices)
    expect(findings, Severity.WARNING, "lacks zeInitDrivers: SYCL of 2026 may crash", "level-zero 1.18")
    expect(findings, Severity.OK, "the driver shows 1 devices")
    answer(monkeypatch, 0, "sim\n0\n0\n")
    findings = found(doctor.check_devices, ZE_AFFINITY_MASK="7")
    expect(findings, Severity.WRONG, "no device", "unset ZE_AFFINITY_MASK, now 7")
    answer(monkeypatch, 1, "", "Traceback\nLevelZeroError: zeInit failed")
    expect(found(doctor.check_devices), Severity.WRONG, "zeInit failed", "libze")
    answer(monkeypatch, 0, "sim\n2\n0\nnone 0 1\nno-atomics 1 0\n")
    findings = found(doctor.check_devices)
    expect(findings, Severity.WRONG, "SYCL sees 0 devices, Level Zero 2", "intel-cmplr-lib-ur")
    expect(findings, Severity.WARNING, "no peer access between devices [['0', '1']]")
    expect(findings, Severity.WARNING, "no peer atomics between devices [['1', '0']]")


def test_a_loader_that_is_too_old() -> None:
    places = Path("/usr/lib").glob("*-linux-gnu"), BUILD.glob("loader/usr/lib/*")
    loaders = [path for folders in places for folder in folders for path in folder.glob("libze_loader.so.1")]
    old = [path for path in loaders if b"zeInitDrivers" not in path.read_bytes()]
    if not old or pinned_libraries.apply():
        pytest.skip("no loader that is too old for today's SYCL: run .ci/loader on Debian 12")
    environ = {**os.environ, "ISHMEM_ZE_LOADER": str(old[0]), "ISHMEM_DEVICE": "sim"}
    findings = list(doctor.check_devices(Machine(environ=environ)))
    expect(findings, Severity.WRONG, f"{old[0].resolve()} lacks zeInitDrivers, and SYCL has crashed", "level-zero")


GUC = "GuC firmware: xe/bmg_guc_70.bin\n\tstatus: RUNNING\n\tversion: wanted 70.29.2, found 70.44.1\n"


def test_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One block has everything below Python, for a device that the kernel knows as well."""
    facts = {
        "versions": {"Python": "3.13.0"},
        "driver": {"kind": "GPU", "version": "1.15.39122", "Level Zero": "1.15", "loader": "/lib/libze_loader.so.1"},
        "devices": [
            {"name": "Arc B580", "memory": 12 << 30, "integrated": False, "PCI address": "0000:03:00.0"},
            {"name": "Arc", "memory": 1 << 30, "integrated": True, "PCI address": ""},
        ],
    }
    monkeypatch.setattr(findings_module, "python", lambda *_: subprocess.CompletedProcess([], 0, json.dumps(facts), ""))
    folder = tmp_path / "sys/bus/pci/devices/0000:03:00.0"
    write(folder / "vendor", "0x8086\n")
    write(folder / "device", "0xe20b\n")
    write(tmp_path / "sys/module/xe/srcversion", "AB12\n")
    (folder / "driver").symlink_to(tmp_path / "sys/module/xe")
    write(tmp_path / "sys/kernel/debug/dri/1/name", "xe dev=0000:03:00.0 unique=0000:03:00.0")
    write(tmp_path / "sys/kernel/debug/dri/1/gt0/uc/guc_info", GUC)
    keys = {"NEOReadDebugKeys": "1", "EnablePidFdOrSocketsForIpc": "0"}
    findings = found(report.check_report, tmp_path, ZE_AFFINITY_MASK="0", HOME="/", PATH="/bin", **keys)
    words = "EnablePidFdOrSocketsForIpc=0, NEOReadDebugKeys=1"
    expect(findings, Severity.WARNING, f"debug keys change Intel's driver: {words}", "unset EnablePidFd")
    lines = findings[-1].text.splitlines()
    assert lines[0] == "report, to paste:" and len({line[:9] for line in lines[1:]}) == 1
    assert [line.strip() for line in lines[3:]] == [
        "loader: " + str(Path("/lib/libze_loader.so.1").resolve()),
        "driver: GPU 1.15.39122, Level Zero 1.15",
        "device 0: Arc B580, 12G, PCI 0000:03:00.0 8086:e20b, kernel driver xe AB12, firmware GuC 70.44.1",
        "device 1: Arc, 1G, integrated",
        f"debug keys: {words}",
        "variables: ZE_AFFINITY_MASK=0",
    ]
    findings = found(report.check_report, tmp_path, EnablePidFdOrSocketsForIpc="0")
    assert "EnablePidFdOrSocketsForIpc=0 (not read, as NEOReadDebugKeys is not 1)" in findings[0].text


def test_report_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        findings_module, "python", lambda *_: subprocess.CompletedProcess([], 1, "", "E: zeInit failed")
    )
    (finding,) = found(report.check_report)
    assert "devices: none can be used: E: zeInit failed" in finding.text
    answer(monkeypatch, 1, "", "LevelZeroError: zeInit failed: ZE_RESULT_ERROR_UNINITIALIZED (0x78000001)")
    findings = found(doctor.check_devices, ZE_AFFINITY_MASK="0.1")
    expect(findings, Severity.WRONG, "(0x78000001): ZE_AFFINITY_MASK=0.1 hides all of them", "unset ZE_AFFINITY_MASK")


def test_job_and_report_under_mpiexec(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that they start are not part of its job; one process finds the devices for both."""
    started, python = [], findings_module.python
    monkeypatch.setattr(findings_module, "python", lambda *given: started.append(given) or python(*given))
    machine = Machine(environ={**os.environ, "PMI_RANK": "0", "PMI_SIZE": "2", "PMI_FD": "99"})
    findings = list(doctor.check_job(machine))
    expect(findings, Severity.OK, "a job of 2 PEs shares memory")
    assert [line.split() for line in findings[-1].text.splitlines()[1:]] == [
        ["0", "1"], ["0", "direct", "direct"], ["1", "direct", "direct"],
    ]  # fmt: skip
    (finding,) = report.check_report(machine)
    assert "device 1: " in finding.text and len(started) == 1, finding


def test_limits_that_are_low(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expect(found(doctor.check_limits), Severity.OK, "file descriptors")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 4096))
    write(tmp_path / "proc/meminfo", "MemTotal: 1 kB\nMemAvailable:    2048 kB\n")
    findings = found(doctor.check_limits, tmp_path)
    expect(findings, Severity.WRONG, "64 file descriptors", "ulimit -n 4096")
    expect(findings, Severity.WARNING, "2 MiB of memory", "ISHMEM_SYMMETRIC_SIZE")


def test_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(os.listdir("/proc/self/fd"))
    expect(found(doctor.check_sockets), Severity.OK, "SCM_RIGHTS")
    assert len(os.listdir("/proc/self/fd")) == before

    def refuse(_name: str) -> int:
        raise PermissionError("not allowed")

    monkeypatch.setattr(os, "memfd_create", refuse)
    expect(found(doctor.check_sockets), Severity.WRONG, "not allowed", "container")


def test_what_ended_jobs_have_left(tmp_path: Path) -> None:
    expect(found(doctor.check_leftovers, tmp_path), Severity.OK, "nothing is left")
    for pid, parent, environ in ((71, 1, "ISHMEM_PE=0\0"), (72, 40, "ISHMEM_PE=1\0"), (73, 1, "HOME=/\0")):
        write(tmp_path / f"proc/{pid}/environ", environ)
        write(tmp_path / f"proc/{pid}/stat", f"{pid} (python (x)) S {parent} 1 1")
    lines = [f"00: 00000002 00000000 {flags} 0005 01 7 @ishmem-{'a' * 32}" for flags in ("00010000", "00000000")]
    write(tmp_path / "proc/net/unix", "\n".join([*lines, "00: 00000002 00000000 00010000 0005 01 8 /run/other", ""]))
    findings = found(doctor.check_leftovers, tmp_path)
    expect(findings, Severity.WARNING, "processes 71", "kill 71")
    expect(findings, Severity.WARNING, "1 jobs wait")


MPICH, OPEN_MPI, INTEL = "MPICH Version: 5.0\nDevice: ch4:ucx ofi", "Open MPI v5.0, x", "Intel(R) MPI Library 2021"


def missing(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "4.0")
    answer(monkeypatch, 0, json.dumps({"version": INTEL, "path": "/opt/libmpi.so"}))
    findings = found(doctor_mpi.check_mpi, ISHMEM_MPIEXEC="/none")
    expect(findings, Severity.OK, "mpi4py 4.0 loads beside the stack, with Intel(R) MPI Library 2021 of /opt/libmpi.so")
    expect(findings, Severity.WARNING, "/none is no program", "ISHMEM_MPIEXEC")
    answer(monkeypatch, 1, "", "ImportError: libmpi.so.12")
    expect(found(doctor_mpi.check_mpi), Severity.WARNING, "libmpi.so.12", "mpich")
    monkeypatch.setattr(metadata, "version", missing)
    expect(found(doctor_mpi.check_mpi), Severity.OK, "not installed")


@pytest.mark.parametrize(
    ("version", "environ", "infiniband", "state", "text", "mend"),
    [
        (MPICH, {}, False, Severity.WARNING, "MPICH 5.0 uses UCX over TCP, which loses", "MPIR_CVAR_CH4_NETMOD=ofi"),
        (MPICH, {}, True, Severity.OK, "UCX", ""),
        (MPICH, {"UCX_TLS": "self,tcp"}, True, Severity.WARNING, "UCX over TCP", "ofi"),
        (MPICH, {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}, False, Severity.OK, "ofi, provider tcp", ""),
        (INTEL, {"I_MPI_OFI_PROVIDER": "psm3"}, False, Severity.OK, "ofi, provider psm3", ""),
        (OPEN_MPI, {"OMPI_MCA_pml": "ucx"}, False, Severity.WARNING, "UCX over TCP", "OMPI_MCA_pml=ob1"),
        (OPEN_MPI, {}, False, Severity.OK, "chosen by Open MPI", ""),
    ],
)
def test_transport(
    version: str, environ: dict[str, str], infiniband: bool, state: Severity, text: str, mend: str, tmp_path: Path
) -> None:
    if infiniband:
        write(tmp_path / "sys/class/infiniband/mlx5_0", "")
    expect([doctor_mpi.judge_transport(Machine(tmp_path, environ), version)], state, text, mend)


def launcher(path: Path, version: str) -> str:
    write(path, f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return str(path)


def test_mpi_of_the_site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = launcher(tmp_path / "opt/mpi/bin/mpiexec", "mpiexec (Open MPI) 5.0")
    monkeypatch.setattr(mpi_library, "wheel", lambda: "mpich")
    environ = {"ISHMEM_MPIEXEC": site, "PATH": "relative:/opt/mpi/bin"}
    findings = list(doctor_mpi.check_mpiexec(Machine(tmp_path, environ), MPICH))
    expect(findings, Severity.WARNING, f"the package mpich shadows the site's MPI, of {site}", "pip uninstall mpich")
    expect(findings, Severity.WRONG, "mpiexec is that of Open MPI, but mpi4py loads MPICH", "the mpiexec of MPICH")
    findings = list(doctor_mpi.check_mpiexec(Machine(tmp_path, environ), OPEN_MPI))
    expect(findings, Severity.WRONG, "-n 2 starts no job of 2 processes", "the mpiexec of mpi4py's")


def process(host: str, *cpus: int, cores: int = 4, gpu: bool = False) -> dict[str, Any]:
    return {"host": host, "cpus": list(cpus), "cores": cores, "gpu": gpu}


def test_processes_on_one_core() -> None:
    check = doctor_mpi.judge_pinning
    shared = list(check([process("a", 3), process("a", 3)]))
    expect(shared, Severity.WARNING, "2 processes of a to core 3", "I_MPI_PIN=0")
    for apart in (
        [process("a", 0), process("a", 1)],
        [process("a", 0), process("b", 0)],
        [process("a", 0, 1), process("a", 0, 1), process("a", 0, 1)],
        [process("a", 0, cores=1), process("a", 0, cores=1)],
    ):
        expect(list(check(apart)), Severity.OK, "no two processes")


def test_gpu_support(monkeypatch: pytest.MonkeyPatch) -> None:
    check, both = doctor_mpi.judge_gpu_support, [process("a", gpu=True), process("a")]
    assert list(check(both, "Intel MPI", {})) == []  # there is only the simulator
    monkeypatch.setattr(stack, "choose", lambda: "gpu")
    found = list(check(both, "Intel MPI", {}))
    expect(found, Severity.WARNING, "does not handle Level Zero memory", "I_MPI_OFFLOAD=1")
    expect(list(check(both[:1], "Intel MPI", {})), Severity.OK, "above 8 KiB go from and to device memory")
    found = list(check(both[1:], "Intel MPI", {"ISHMEM_MPI_DEVICE_MEMORY": "off"}))
    expect(found, Severity.WARNING, "ISHMEM_MPI_DEVICE_MEMORY=off", "unset it")


def mpi(*, initialised: bool = True, version: str = OPEN_MPI, kinds: str | None = None) -> SimpleNamespace:
    """Return what `handles_device_memory` needs of ``mpi4py.MPI``."""
    return SimpleNamespace(
        __file__=_ctypes.__file__,  # a library without functions of MPI
        Is_initialized=lambda: initialised,
        Is_finalized=lambda: False,
        Get_library_version=lambda: version,
        COMM_WORLD=SimpleNamespace(Get_info=lambda: SimpleNamespace(Get=lambda _key: kinds)),
    )


def test_device_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(module: Any, setting: str = "auto", **environ: str) -> bool | None:
        return mpi_library.handles_device_memory(module, setting, environ)

    assert asked(mpi(initialised=False)) is None
    assert asked(mpi()) is False
    assert asked(mpi(kinds="mpi,system")) is False
    assert asked(mpi(kinds="mpi,system,level_zero")) is True
    assert asked(mpi(version=INTEL)) is asked(mpi(version=INTEL), I_MPI_OFFLOAD="0") is False
    assert asked(mpi(version=INTEL), I_MPI_OFFLOAD="1") is True
    for answer in (0, 1):
        library = SimpleNamespace(MPIX_Query_ze_support=lambda: answer)  # noqa: B023
        monkeypatch.setattr(mpi_library.ctypes, "CDLL", lambda _file: library)  # noqa: B023
        assert asked(mpi(version=INTEL), I_MPI_OFFLOAD="1") is bool(answer)
        assert asked(mpi(), "on") is True
        assert asked(mpi(), "off") is asked(mpi(initialised=False), "off") is False


@pytest.mark.slow("test_job_and_report_under_mpiexec")
def test_a_job_with_wrong_memory() -> None:
    """Each device has a PE; the finding has the words of the warning."""
    settings = {"ISHMEM_SIM_DEVICES": "3", "ISHMEM_SIM_CARD": "2", "ISHMEM_SIM_PEERS": "wrong"}
    machine = Machine(environ={**os.environ, **settings})
    findings = list(doctor.check_job(machine))
    expect(findings, Severity.WARNING, "PEs 0 and 2, 1 and 2: loads and stores move wrong data", "hardware")
    assert [line.split()[1:] for line in findings[-1].text.replace("by host", "host").splitlines()[2:]] == [
        ["direct", "direct", "host"], ["direct", "direct", "host"], ["host", "host", "direct"],
    ]  # fmt: skip


def test_a_job_that_fails() -> None:
    broken = Machine(environ={**os.environ, "ISHMEM_SIM_MEMORY": "1K"})
    expect(list(doctor.check_job(broken)), Severity.WRONG, "a job of 2 PEs fails", "ISHMEM_DEBUG")


@pytest.mark.parametrize(("error", "words"), [(OSError("no such thing"), "no such thing"), (KeyError(), "KeyError")])
def test_a_check_that_raises_is_wrong(monkeypatch: pytest.MonkeyPatch, error: Exception, words: str) -> None:
    def check_nothing(_machine: Machine) -> Any:
        raise error

    monkeypatch.setattr(doctor, "CHECKS", (check_nothing, doctor.check_python))
    findings = list(doctor.examine(Machine()))
    assert [one.severity for one in findings] == [Severity.WRONG, Severity.OK]
    assert f"check nothing: {words}" in findings[0].text


@pytest.mark.parametrize(("state", "status"), [(Severity.OK, 0), (Severity.WARNING, 0), (Severity.WRONG, 1)])
def test_the_exit_status(monkeypatch: pytest.MonkeyPatch, state: Severity, status: int) -> None:
    findings = [Finding(Severity.WARNING, "first", "mend it"), Finding(state, "[bold]second"), ok("third")]
    monkeypatch.setattr(doctor, "CHECKS", (lambda _machine: iter(findings),))
    done = CliRunner().invoke(doctor.command)
    assert done.exit_code == status and "fix: mend it" in done.output and "[bold]second" in done.output


def test_this_machine() -> None:
    command = [str(Path(sys.executable).with_name("ishmem")), "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong" not in done.stdout and "a job of 2 PEs shares memory" in done.stdout
    assert "starts a job of 2 processes" in done.stdout
