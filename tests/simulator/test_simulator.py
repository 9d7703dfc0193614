"""The simulated driver: the calls themselves, and SYCL, dpctl, dpnp and numba-dpex on top of it."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import level_zero
import numpy as np
import pytest
from common import dpex, dpnp, kapi
from subprocesses import program, run_program

from ishmem.common.errors import LevelZeroError
from ishmem.dpex import spirv as dpex_spirv
from ishmem.ipc import pyze

HERE = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only")


def start(code: str | Path, *args: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python program, or its text, with other settings of the simulator; it may import modules of tests."""
    paths = os.pathsep.join([str(HERE), str(HERE / "simulator"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, *([str(code)] if isinstance(code, Path) else ["-c", code]), *args],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(code: str | Path, *args: str, status: int = 0, **environment: str) -> tuple[str, str]:
    """Run a Python program with other settings; return its output and its errors."""
    process = start(code, *args, **environment)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, f"{process.returncode}\n{out}\n{err}"
    return out, err


def code_of(call, *arguments) -> str:
    """Return the symbolic result that a call is refused with."""
    with pytest.raises(LevelZeroError) as caught:
        call(*arguments)
    return pyze.result_name(caught.value.code)


# ---- a module made by hand: store(global ulong *out, ulong value, uint more, local uint *scratch)


def instruction(op: int, *operands: int | str) -> tuple[int, ...]:
    words: list[int] = [op]
    for operand in operands:
        if isinstance(operand, str):
            raw = operand.encode() + b"\0" * (4 - len(operand) % 4)
            words += struct.unpack(f"<{len(raw) // 4}I", raw)
        else:
            words.append(operand)
    return tuple(words)


def assembled(name: str, main: int, bound: int, *body: tuple[int, ...], needs: tuple[int, ...] = (), **more: int):
    """Assemble a kernel: its name and number, the bound of numbers, its types and instructions, and its inputs."""
    extensions = [instruction(10, "SPV_INTEL_arbitrary_precision_integers")] if needs else []
    lines = [
        *(instruction(17, capability) for capability in (4, 5, 6, 11, *needs)),
        *extensions,
        instruction(14, 2, 2),
        instruction(15, 6, main, name, *more.values()),
        *body,
        instruction(253),
        instruction(56),
    ]
    return dpex_spirv.kernel_module(lines, bound)


def spirv(name: str = "store") -> bytes:
    """Assemble ``out[id] = value + more + constant``; specialisation constant 7 is 100 unless set."""
    void, ulong, uint, ids, input_, out, scratch, kernel = range(1, 9)
    gid, spec, main, p0, p1, p2, p3, label, where, at, wide, one, two, place = range(9, 23)
    return assembled(
        name, main, 23,
        instruction(71, gid, 11, 28),
        instruction(71, spec, 1, 7),
        instruction(19, void),
        instruction(21, ulong, 64, 0),
        instruction(21, uint, 32, 0),
        instruction(23, ids, ulong, 3),
        instruction(32, input_, 1, ids),
        instruction(32, out, 5, ulong),
        instruction(32, scratch, 4, uint),
        instruction(33, kernel, void, out, ulong, uint, scratch),
        instruction(59, input_, gid, 1),
        instruction(50, ulong, spec, 100, 0),
        instruction(54, void, main, 0, kernel),
        *(instruction(55, kind, p) for kind, p in ((out, p0), (ulong, p1), (uint, p2), (scratch, p3))),
        instruction(248, label),
        instruction(61, ids, where, gid),
        instruction(81, ulong, at, where, 0),
        instruction(113, ulong, wide, p2),
        instruction(128, ulong, one, p1, wide),
        instruction(128, ulong, two, one, spec),
        instruction(70, out, place, p0, at),
        instruction(62, place, two, 2, 8),
        id_of_work_item=gid,
    )  # fmt: skip


UINT_2 = ctypes.c_uint32(2)


class Level0:
    """A context, an immediate list and memory of one device."""

    def __init__(self) -> None:
        self.lib = ctypes.CDLL(pyze.LIBRARY)
        self.driver = pyze.drivers()[0]
        self.device = pyze.devices(self.driver)[0]
        self.context = level_zero.create_context(self.driver)
        self.list = pyze.create_immediate(self.context, self.device)

    def read(self, address: int, size: int) -> bytes:
        host = ctypes.create_string_buffer(size)
        pyze.append_copy(self.list, ctypes.addressof(host), address, size)
        return host.raw

    def store(self, kernel: int, out: int, value=5, more=UINT_2, groups=1) -> list[int]:
        """Run the kernel made by hand on groups of 4; return the 8 numbers that out holds afterwards."""
        level_zero.append_fill(self.list, out, b"\0", 64)
        pyze.set_argument(kernel, 0, out)
        number = ctypes.c_uint64(value)
        pyze.zeKernelSetArgumentValue(kernel, 1, 8, ctypes.addressof(number) if value else None)
        pyze.set_argument(kernel, 2, more)
        pyze.set_argument(kernel, 3, (64,))
        pyze.zeKernelSetGroupSize(kernel, 4, 1, 1)
        pyze.append_launch(self.list, kernel, (groups, 1, 1))
        return list(struct.unpack("<8Q", self.read(out, 64)))


@pytest.fixture(scope="module")
def ze():
    return Level0()


@pytest.fixture(scope="module")
def module(ze):
    return pyze.create_module(ze.context, ze.device, spirv(), "-ze-opt-large-register-file -cl-mad-enable")


@pytest.fixture
def kernel(module):
    kernel = pyze.create_kernel(module, "store")
    yield kernel
    pyze.zeKernelDestroy(kernel)


@pytest.fixture
def memory(ze):
    address = level_zero.alloc_device(ze.context, ze.device, 8192)
    yield address
    pyze.zeMemFree(ze.context, address)


# ---- kernels


def test_arguments_of_every_kind_and_size(ze, kernel, memory):
    assert ze.store(kernel, memory) == [107] * 4 + [0] * 4
    assert ze.store(kernel, memory, groups=2) == [107] * 8
    assert ze.store(kernel, memory, groups=0) == [0] * 8
    assert ze.store(kernel, memory, value=0) == [102] * 4 + [0] * 4, "no value given for an 8-byte argument: 0"
    assert ze.store(kernel, memory, more=ctypes.c_uint64(7 << 32 | 3))[0] == 108, "8 bytes for an int: cut"
    assert ze.store(kernel, memory, more=ctypes.c_uint8(3))[0] == 108, "1 byte for an int: padded"


def test_arguments_are_those_of_the_append(ze, kernel, memory):
    """A regular list keeps the arguments it was given, and can run again."""
    ze.store(kernel, memory)
    commands, queue = pyze.create_list(ze.context, ze.device), pyze.create_queue(ze.context, ze.device)
    pyze.append_launch(commands, kernel, (1, 1, 1))
    pyze.set_argument(kernel, 1, ctypes.c_uint64(1000))
    assert code_of(pyze.execute, queue, [commands]).endswith("INVALID_COMMAND_LIST_TYPE"), "not closed"
    pyze.zeCommandListClose(commands)
    for _ in range(2):
        level_zero.append_fill(ze.list, memory, b"\0", 64)
        fence = level_zero.create_fence(queue)
        assert pyze.zeFenceQueryStatus(fence) == pyze.NOT_READY
        pyze.execute(queue, [commands], fence)
        assert pyze.zeFenceHostSynchronize(fence, pyze.FOREVER) == pyze.SUCCESS
        assert pyze.zeCommandQueueSynchronize(queue, pyze.FOREVER) == pyze.SUCCESS
        assert struct.unpack("<Q", ze.read(memory, 8)) == (107,)
        pyze.zeFenceDestroy(fence)
    pyze.zeCommandListDestroy(commands)
    pyze.zeCommandQueueDestroy(queue)


def test_kernel_is_described(ze, module, kernel):
    assert level_zero.kernel_names(module) == ["store"]
    assert level_zero.kernel_properties(kernel).numKernelArgs == 4
    size = [ctypes.c_uint32() for _ in range(3)]
    pyze.zeKernelSuggestGroupSize(kernel, 1000, 3, 1, *map(ctypes.byref, size))
    assert [n.value for n in size] == [250, 1, 1]
    assert code_of(pyze.create_kernel, module, "other").endswith("INVALID_KERNEL_NAME")
    assert code_of(pyze.set_argument, kernel, 4, 0).endswith("INVALID_KERNEL_ARGUMENT_INDEX")
    assert code_of(pyze.zeKernelSetGroupSize, kernel, 1025, 1, 1).endswith("INVALID_GROUP_SIZE_DIMENSION")
    assert code_of(pyze.append_launch, ze.list, kernel, (1, 1, 1)).endswith("INVALID_ARGUMENT"), "arguments unset"


def constants(values: dict[int, int]) -> ctypes.Array:
    """Return ze_module_constants_t as words; what it points to stays alive with it."""
    ids = (ctypes.c_uint32 * len(values))(*values)
    numbers = [ctypes.c_uint64(value) for value in values.values()]
    places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, numbers))
    table = (ctypes.c_uint64 * 3)(len(values), ctypes.addressof(ids), ctypes.addressof(places))
    table.keep = ids, numbers, places
    return table


def build(ze, **fields) -> int:
    handle = ctypes.c_void_p()
    desc = pyze.ze_module_desc_t(**fields)
    pyze.zeModuleCreate(ze.context, ze.device, ctypes.byref(desc), ctypes.byref(handle), None)
    return handle.value


def test_constants_and_native_binary(ze, memory):
    code, table = spirv(), constants({7: 1000, 99: 1})
    special = build(ze, inputSize=len(code), pInputModule=code, pConstants=ctypes.addressof(table))
    size = ctypes.c_size_t()
    assert ze.lib.zeModuleGetNativeBinary(ctypes.c_void_p(special), ctypes.byref(size), None) == 0
    binary = ctypes.create_string_buffer(size.value)
    size.value = 0  # the SYCL plugin passes 0 with a buffer
    assert ze.lib.zeModuleGetNativeBinary(ctypes.c_void_p(special), ctypes.byref(size), binary) == 0
    again = build(ze, format=1, inputSize=size.value, pInputModule=binary.raw)
    for handle in special, again:
        assert ze.store(pyze.create_kernel(handle, "store"), memory)[0] == 1007
    for damaged in binary.raw[:-3], b"x" + binary.raw[1:], binary.raw[:30]:
        with pytest.raises(LevelZeroError):
            build(ze, format=1, inputSize=len(damaged), pInputModule=damaged)
    handle, log = ctypes.c_void_p(), ctypes.c_void_p()
    desc = pyze.ze_module_desc_t(format=1, inputSize=8, pInputModule=b"\x7fELF\0\0\0\0")
    with pytest.raises(LevelZeroError):
        pyze.zeModuleCreate(ze.context, ze.device, ctypes.byref(desc), ctypes.byref(handle), ctypes.byref(log))
    assert "machine code of a GPU" in pyze.build_log(log.value)


def test_program_of_several_modules(ze, memory):
    codes = [spirv("first"), spirv("second")]
    buffers = [ctypes.create_string_buffer(code, len(code)) for code in codes]
    sizes = (ctypes.c_size_t * 2)(*map(len, codes))
    inputs = (ctypes.c_void_p * 2)(*map(ctypes.addressof, buffers))
    words = (ctypes.c_uint64 * 7)(0x20002, 0, 2, ctypes.addressof(sizes), ctypes.addressof(inputs), 0, 0)
    # As SYCL does: a validation layer wants a module where the extension has them.
    program = build(ze, pNext=ctypes.addressof(words), inputSize=1, pInputModule=b"\x01")
    assert level_zero.kernel_names(program) == ["first", "second"]
    for name in "first", "second":
        assert ze.store(pyze.create_kernel(program, name), memory)[0] == 107


DAMAGED = {
    "empty header": lambda code: code[:16],
    "odd size": lambda code: code[:-1],
    "magic": lambda code: b"\0" + code[1:],
    "cut": lambda code: code[:-8],
    "no bound": lambda code: code[:12] + b"\0" * 4 + code[16:],
    "bound too small": lambda code: code[:12] + b"\3\0\0\0" + code[16:],
    "length 0": lambda code: code[:20] + b"\0" * 4 + code[24:],
    "length too large": lambda code: code[:20] + b"\xff" * 4 + code[24:],
    "constant too wide": lambda code: code.replace(struct.pack("<2I", 2, 64), struct.pack("<2I", 2, 96)),
    "name not ended": lambda code: code.replace(b"store\0\0\0\x09\0\0\0", b"store" + b"x" * 7),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_module_is_refused(ze, damage):
    with pytest.raises(LevelZeroError, match="MODULE_BUILD_FAILURE") as caught:
        pyze.create_module(ze.context, ze.device, DAMAGED[damage](spirv()))
    assert "\n" in str(caught.value), "the build log says what is wrong"


# ---- memory, IPC, queues, events


def test_memory(ze, memory):
    assert pyze.address_range(ze.context, memory + 8191) == (memory, 8192)
    properties, device = pyze.alloc_properties(ze.context, memory + 1)
    assert (properties.type, device) == (pyze.MEMORY_DEVICE, ze.device)
    assert pyze.alloc_properties(ze.context, ctypes.addressof(properties))[0].type == pyze.MEMORY_UNKNOWN
    for alignment in 1, 4096, 1 << 22:
        address = level_zero.alloc_device(ze.context, ze.device, 100, alignment)
        assert address % alignment == 0
        pyze.zeMemFree(ze.context, address)
    assert code_of(pyze.zeMemFree, ze.context, memory + 1).endswith("INVALID_ARGUMENT")
    assert code_of(pyze.zeMemFree, ze.context, None).endswith("NULL_POINTER")
    assert code_of(pyze.zeMemFree, None, memory).endswith("NULL_HANDLE")
    assert code_of(level_zero.alloc_device, ze.context, ze.device, 0).endswith("UNSUPPORTED_SIZE")
    assert code_of(level_zero.alloc_device, ze.context, ze.device, 64, 3).endswith("UNSUPPORTED_ALIGNMENT")
    assert code_of(level_zero.alloc_device, ze.context, ze.device, 1 << 50).endswith("OUT_OF_DEVICE_MEMORY")
    assert code_of(pyze.address_range, ze.context, 4096).endswith("INVALID_ARGUMENT")


def test_copies_and_fills(ze, memory):
    level_zero.append_fill(ze.list, memory, b"abcd", 8192)
    level_zero.append_fill(ze.list, memory + 3, b"xy", 5)
    pyze.append_copy(ze.list, memory + 100, memory, 9)
    pyze.append_copy(ze.list, memory, memory + 50, 0)
    assert ze.read(memory, 12) == b"abcxyxyxabcd"
    assert ze.read(memory + 99, 11) == b"dabcxyxyxab"[:11]
    assert ze.read(memory + 8188, 4) == b"abcd"
    assert code_of(level_zero.append_fill, ze.list, memory, b"abc", 8).endswith("INVALID_SIZE")
    assert code_of(pyze.append_copy, ze.list, 0, memory, 8).endswith("NULL_POINTER")


def test_region_copy(ze, memory):
    source = ctypes.create_string_buffer(bytes(range(64)))
    regions = [(ctypes.c_uint32 * 6)(*numbers) for numbers in ((1, 2, 0, 3, 2, 1), (4, 1, 0, 3, 2, 1))]
    level_zero.append_fill(ze.list, memory, b"\0", 64)
    copy = ze.lib.zeCommandListAppendMemoryCopyRegion
    pointers = [ctypes.c_void_p(ze.list), ctypes.c_void_p(memory), regions[0], 16, 0, source, regions[1], 8, 0]
    assert copy(*pointers, None, 0, None) == 0
    got = ze.read(memory, 64)
    assert (got[33:36], got[49:52], sum(got)) == (bytes([12, 13, 14]), bytes([20, 21, 22]), 102)


@pytest.fixture
def events(ze):
    """Three events of a pool."""
    pool = pyze.create_event_pool(ze.context, 3)
    found = [pyze.create_event(pool, i) for i in range(3)]
    assert code_of(pyze.create_event, pool, 3).endswith("INVALID_ARGUMENT")
    yield found
    for event in found:
        pyze.zeEventDestroy(event)
    pyze.zeEventPoolDestroy(pool)


@pytest.fixture
def asynchronous(ze):
    """An asynchronous immediate list."""
    clist = pyze.create_immediate(ze.context, ze.device, mode=pyze.MODE_ASYNCHRONOUS)
    yield clist
    pyze.zeCommandListDestroy(clist)


def test_events_and_time_limits(ze, events, asynchronous):
    first, last, _ = events
    pyze.append_barrier(asynchronous, last, [first])
    began = time.monotonic()
    assert pyze.zeEventHostSynchronize(last, 50_000_000) == pyze.NOT_READY
    assert pyze.zeCommandListHostSynchronize(asynchronous, 50_000_000) == pyze.NOT_READY
    assert time.monotonic() - began >= 0.1
    assert pyze.zeEventQueryStatus(last) == pyze.NOT_READY
    pyze.zeEventHostSignal(first)
    assert pyze.zeEventHostSynchronize(last, pyze.FOREVER) == pyze.SUCCESS
    assert pyze.zeCommandListHostSynchronize(asynchronous, pyze.FOREVER) == pyze.SUCCESS
    times = pyze.ze_kernel_timestamp_result_t()
    pyze.zeEventQueryKernelTimestamp(last, ctypes.byref(times))
    device = getattr(times, "global")
    assert 0 < device.kernelStart <= device.kernelEnd
    pyze.zeEventHostReset(last)
    assert pyze.zeEventQueryStatus(last) == pyze.NOT_READY


IN_ORDER_QUEUE, IN_ORDER_LIST = 2, 8


class CounterBased(pyze.Tagged):
    """ze_event_pool_counter_based_exp_desc_t."""

    STYPE = 0x20014
    _fields_ = (("flags", ctypes.c_uint32),)


@pytest.fixture
def counter(ze):
    """A counter-based event."""
    chained, pool = CounterBased(), ctypes.c_void_p()
    desc = pyze.ze_event_pool_desc_t(flags=pyze.EVENT_POOL_HOST_VISIBLE, count=1, pNext=ctypes.addressof(chained))
    pyze.zeEventPoolCreate(ze.context, ctypes.byref(desc), 0, None, ctypes.byref(pool))
    event = pyze.create_event(pool.value, 0)
    yield event
    pyze.zeEventDestroy(event)
    pyze.zeEventPoolDestroy(pool.value)


@pytest.fixture
def in_order(ze):
    """An asynchronous immediate list with the in-order flag."""
    clist = ctypes.c_void_p()
    desc = pyze.ze_command_queue_desc_t(mode=pyze.MODE_ASYNCHRONOUS, flags=IN_ORDER_QUEUE)
    pyze.zeCommandListCreateImmediate(ze.context, ze.device, ctypes.byref(desc), ctypes.byref(clist))
    yield clist.value
    pyze.zeCommandListDestroy(clist.value)


def test_counter_based_event_stands_for_the_last_command(counter, in_order, events, asynchronous):
    (first, second, seen), other = events, asynchronous
    assert pyze.zeEventQueryStatus(counter) == pyze.SUCCESS  # no command signals it
    pyze.append_barrier(in_order, counter, [first])
    assert pyze.zeEventQueryStatus(counter) == pyze.NOT_READY
    pyze.append_barrier(other, seen, [counter])  # waits for the barrier before, not for the one after
    pyze.append_barrier(in_order, counter, [second])
    assert pyze.zeEventHostSynchronize(seen, 20_000_000) == pyze.NOT_READY
    pyze.zeEventHostSignal(first)
    assert pyze.zeEventHostSynchronize(seen, pyze.FOREVER) == pyze.SUCCESS
    assert pyze.zeEventQueryStatus(counter) == pyze.NOT_READY
    pyze.zeEventHostSignal(second)
    assert pyze.zeEventHostSynchronize(counter, pyze.FOREVER) == pyze.SUCCESS
    assert code_of(pyze.zeEventHostSignal, counter).endswith("INVALID_ARGUMENT")
    assert code_of(pyze.zeEventHostReset, counter).endswith("INVALID_ARGUMENT")
    assert code_of(pyze.append_barrier, other, counter).endswith("INVALID_ARGUMENT")  # its commands may overlap
    assert pyze.zeCommandListHostSynchronize(other, pyze.FOREVER) == pyze.SUCCESS


def test_counter_based_event_of_a_list_that_runs_twice(ze, counter, events):
    gate, queue, clist = events[0], pyze.create_queue(ze.context, ze.device), ctypes.c_void_p()
    desc = pyze.ze_command_list_desc_t(flags=IN_ORDER_LIST)
    pyze.zeCommandListCreate(ze.context, ze.device, ctypes.byref(desc), ctypes.byref(clist))
    pyze.append_barrier(clist.value, counter, [gate])
    pyze.zeCommandListClose(clist.value)
    for _ in range(2):
        pyze.execute(queue, [clist.value])
        assert pyze.zeEventHostSynchronize(counter, 20_000_000) == pyze.NOT_READY
        pyze.zeEventHostSignal(gate)
        assert pyze.zeEventHostSynchronize(counter, pyze.FOREVER) == pyze.SUCCESS
        pyze.zeEventHostReset(gate)
    pyze.zeCommandListDestroy(clist.value)
    pyze.zeCommandQueueDestroy(queue)


class FreeDesc(pyze.Tagged):
    """ze_memory_free_ext_desc_t."""

    STYPE = 0x1000A
    _fields_ = (("freePolicy", ctypes.c_uint32),)


@pytest.mark.parametrize("policy", [1, 2], ids=["blocking", "deferring"])
def test_memory_that_is_freed_while_it_is_used(ze, in_order, events, policy):
    gate, size = events[0], 1 << 20
    host = ctypes.create_string_buffer(b"x" * size, size)
    used = level_zero.alloc_device(ze.context, ze.device, size)
    level_zero.append_fill(in_order, used, b"y", size, None, [gate])
    pyze.append_copy(in_order, ctypes.addressof(host), used, size)
    free = ze.lib.zeMemFreeExt
    desc = ctypes.byref(FreeDesc(freePolicy=policy))
    assert free(ctypes.c_void_p(ze.context), desc, ctypes.c_void_p(used)) == pyze.SUCCESS
    again = free(ctypes.c_void_p(ze.context), desc, ctypes.c_void_p(used)) & 0xFFFFFFFF
    assert pyze.result_name(again).endswith("INVALID_ARGUMENT")
    assert f"{used:x}-" in Path("/proc/self/maps").read_text()
    pyze.zeEventHostSignal(gate)
    assert pyze.zeCommandListHostSynchronize(in_order, pyze.FOREVER) == pyze.SUCCESS
    assert host.raw == b"y" * size
    latest = time.monotonic() + 60
    while f"{used:x}-" in Path("/proc/self/maps").read_text() and time.monotonic() < latest:
        time.sleep(0.001)  # the thread of the list unmaps it
    assert f"{used:x}-" not in Path("/proc/self/maps").read_text()


@pytest.mark.slow_cases("checks the simulator only", "opaque-", "pool-", "tiles-")
@pytest.mark.parametrize(
    ("mode", "patched", "unpatched"),
    [
        ("fd", "hello", "INVALID_ARGUMENT"),
        ("pool", "hello", "INVALID_ARGUMENT"),
        ("tiles", "hello", "INVALID_ARGUMENT"),
        ("opaque", "hello", "hello"),
        ("opaque-strict", "INVALID_ARGUMENT", "hello"),
    ],
)
def test_ipc_handles(mode, patched, unpatched):
    exporter = start(program("export_handle"), ISHMEM_SIM_IPC=mode)
    handle = exporter.stdout.readline()
    importer = start(program("import_handles"), ISHMEM_SIM_IPC=mode)
    out, err = importer.communicate(f"{handle}{exporter.pid}\n", timeout=60)
    assert importer.returncode == 0, err
    seen = [word.replace("ZE_RESULT_ERROR_", "") for word in out.split()]
    assert seen == [patched, unpatched, "INVALID_ARGUMENT"]
    exporter.communicate("\n", timeout=60)
    assert exporter.returncode == 0


# ---- settings


def test_devices_memory_and_mask():
    out, err = run(
        program("simulated_devices"),
        ISHMEM_SIM_DEVICES="4",
        ISHMEM_SIM_MEMORY="4M",
        ISHMEM_SIM_HOST_ATOMICS="0",
        ZE_AFFINITY_MASK="1,3,7",
        ISHMEM_SIM_IPC="nonsense",
        ISHMEM_SIM_FAIL="alloc,launch:0,copy:x@1,nothing:3",
        ISHMEM_SIM_SLOW="fast",
    )
    assert out.splitlines() == [
        "2 {4194304}",
        "Intel(R) Data Center GPU Max 1550 (simulated) [1, 3]",
        "True 3 []",
        "3",
        "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    ]
    wrong = ("IPC=nonsense", "FAIL=alloc ", "FAIL=launch:0", "FAIL=copy:x@1", "FAIL=nothing:3", "SLOW=fast")
    assert all(f"ISHMEM_SIM_{setting}" in err for setting in wrong)


@pytest.mark.slow("checks the simulator only")
def test_trace():
    code = "import test_simulator as t\nt.Level0().lib.zeImageCreate()"
    assert "zeImageCreate is not supported" in run(code, ISHMEM_SIM_TRACE="1")[1]
    assert "zeContextCreate" in run(code, ISHMEM_SIM_TRACE="2")[1]
    # Without the selector SYCL also opens the CPU as a device, and Intel's runtime warns about a CPU newer than it.
    assert run(code, ONEAPI_DEVICE_SELECTOR="level_zero:*")[1] == ""


LOST_THREE_TIMES = ["ZE_RESULT_ERROR_DEVICE_LOST"] * 3
SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]
SLOW = pytest.mark.slow("checks the simulator only")
STRICT = {"ISHMEM_SIM_STRICT": "1"}


@pytest.mark.parametrize(
    ("words", "printed", "said", "status", "settings"),
    [
        # One descriptor per allocation; a caller that closes it hears about it.
        ("closed_descriptor_of_a_handle", ["b'zzz'", r"b'z\x00'"], "the application closed descriptor", 0, {}),
        # A host access ends the process; copies, kernels and the application's own mapping work.
        ("access_by_the_host", ["107", "107"], "", -signal.SIGSEGV, STRICT),
        ("store_by_a_kernel", ["107"], "", 0, {"ISHMEM_SIM_INLINE": "1"}),
        # Kernels take a signal, with which their thread yields, only when the application has not.
        pytest.param("signal_of_running_kernels", ["107", "alive"], "", 0, {}, marks=SLOW),
        pytest.param("signal_of_running_kernels taken", ["107", "mine", "alive"], "", 0, {}, marks=SLOW),
        # Local memory that no device has: the launch fails, and everything after it.
        pytest.param("failed_launch", LOST_THREE_TIMES, "the device is lost", 0, {}, marks=SLOW),
        # The launch raises, and so does the next kernel of dpnp; dpctl's copies to the host swallow errors.
        ("failed_launch_in_python", ["refused"] * 3, "the device is lost", 0, {}),
        # The LLVM in the OpenCL runtime installs its own when it starts.
        pytest.param("signal_handlers", SIGNALS * 2, "", 0, {}, marks=SLOW),
        # Two queues of one device: each kernel needs the other's stores to go on.
        pytest.param("kernels_on_two_queues", ["[1000", "1000]"], "", 0, {}, marks=SLOW),
    ],
    ids=str,
)
def test_program(words: str, printed: list[str], said: str, status: int, settings: dict[str, str]) -> None:
    name, *arguments = words.split()
    out, err = run(program(name), *arguments, status=status, **settings)
    assert out.split() == printed
    assert said in err


@pytest.mark.slow("checks the simulator only")
def test_exit_does_not_wait_for_a_kernel():
    out, _ = run(program("exit_beside_waiting_work"), status=3)
    assert out == "output is kept"


LOST = "LevelZeroError" if dpex.HAS_NUMBA_DPEX else "DeviceLostError"
"""The error of a launch outside of a job whose kernel fails."""
PREFIX = "__main__." if dpex.HAS_NUMBA_DPEX else ""


@pytest.mark.slow("checks the simulator only")
def test_a_kernel_that_does_not_end():
    """It becomes an error, and the process can end."""
    out, err = run(program("work_items_wait"), "then", status=3, ISHMEM_TIMEOUT="2")
    assert out.split() == [LOST, "refused"]
    assert f"kernel {PREFIX}in_turn has not ended after 4 s (ISHMEM_TIMEOUT=2): the device is lost." in err
    assert "the 2 work-items of a group wait for each other: they run one after another" in err


GROUPS_WAIT = "its work-groups wait for each other: of the 1000, "


@pytest.mark.slow("checks the simulator only")
@pytest.mark.parametrize("width", [1, 4])
def test_work_groups_that_wait_for_each_other(width):
    """Each waits for the next one; more of them than run at a time. The wait for an event raises, too."""
    out, err = run(program("work_groups_wait"), str(width), "alone", status=3, ISHMEM_TIMEOUT="1")
    assert out.strip() == "DeviceLostError"
    assert re.search(rf"kernel {PREFIX}chain has not ended .*Perhaps {GROUPS_WAIT}\d+ run at a time", err), err
    assert err.count("wait for each other") == 1
    assert ("or the 4 work-items of a group do" in err) == (width == 4)


@pytest.mark.slow("checks the simulator only")
def test_work_groups_that_wait_for_each_other_in_a_job():
    """The report of ishmem run has the cause, and the launch raises it; the simulator repeats nothing."""
    done = run_program(program("work_groups_wait"), 1, "4", "job", env={"ISHMEM_TIMEOUT": "3"})
    assert done.returncode == 124 and "back" not in done.stdout, done
    assert re.search(rf"ishmem run:   PE 0: .*kernel {PREFIX}chain: perhaps {GROUPS_WAIT}", done.stderr), done
    assert done.stderr.count("wait for each other") == 2 and "WaitTimeout: PE 0: " in done.stderr, done


@pytest.mark.slow("checks the simulator only")
@pytest.mark.parametrize("inline", ["0", "1"])
def test_a_kernel_that_does_not_end_is_no_success(inline):
    """SYCL may abort when it releases the queue of a lost device."""
    process = start(program("work_items_wait"), ISHMEM_TIMEOUT="1", ISHMEM_SIM_INLINE=inline)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGABRT or (process.returncode == 124 and inline == "0"), err
    assert "has not ended" in err


# ---- SYCL, dpctl, dpnp, numba-dpex


def test_dpctl_shows_the_devices():
    out, _ = run(program("devices_of_dpctl"), ISHMEM_SIM_DEVICES="3")
    assert out.splitlines() == [
        str([f"level_zero:gpu:{i}" for i in range(3)]),
        "True True True 1024 131072",
        "4999950000 True (14289,)",
    ]


@pytest.mark.slow("checks the simulator only")
def test_dpnp():
    x = np.random.default_rng(1).standard_normal((48, 48))
    d = dpnp.asarray(x)
    assert np.allclose(d.sum(axis=0).asnumpy(), x.sum(axis=0))
    assert np.allclose(dpnp.sort(d, axis=1).asnumpy(), np.sort(x, axis=1))
    for dtype in ("i1", "u2"):  # by radix, with sub-groups
        short = np.random.default_rng(2).integers(0, 100, 20_000).astype(dtype)
        assert np.array_equal(dpnp.sort(dpnp.asarray(short)).asnumpy(), np.sort(short))
        assert np.array_equal(short[dpnp.argsort(dpnp.asarray(short)).asnumpy()], np.sort(short))
    assert np.allclose((d @ d.T).asnumpy(), x @ x.T)
    assert np.allclose(abs(dpnp.linalg.qr(d)[1].asnumpy()), abs(np.linalg.qr(x)[1]))
    assert np.allclose(dpnp.linalg.svd(d)[1].asnumpy(), np.linalg.svd(x)[1])
    assert np.allclose(d[d > 0][::-2].asnumpy(), x[x > 0][::-2])
    assert dpnp.asarray(x.astype("f2")).max().asnumpy() == x.astype("f2").max()
    dpnp.random.seed(1)
    sample = dpnp.random.normal(size=10000).asnumpy()
    assert abs(sample.mean()) < 0.05
    assert 0.95 < sample.std() < 1.05


@dpex.kernel
def cube(item: kapi.Item, a):
    x, y, z = item.get_id(0), item.get_id(1), item.get_id(2)
    a[x, y, z] = 100 * x + 10 * y + z + item.get_range(2) * 1000


@dpex.kernel
def reverse_groups(item: kapi.NdItem, a, b, local):
    """Reverse each group of b through local memory, with a sum made in private memory."""
    group = item.get_group()
    at, here, size = item.get_global_id(0), item.get_local_id(0), group.get_local_range(0)
    mine = kapi.PrivateArray(4, dtype=a.dtype)
    for i in range(4):
        mine[i] = a[at] + i
    local[here] = mine[0] + mine[1] + mine[2] + mine[3]
    kapi.group_barrier(group)
    b[at] = local[size - 1 - here]


@dpex.kernel
def count(item: kapi.Item, cells, values):
    i = item.get_id(0)
    kapi.AtomicRef(cells, index=0).fetch_add(values[i])
    kapi.AtomicRef(cells, index=1).fetch_sub(values[i])
    kapi.AtomicRef(cells, index=2).fetch_min(values[i])
    kapi.AtomicRef(cells, index=3).fetch_max(values[i])
    kapi.AtomicRef(cells, index=4).store(values[0])
    expected = kapi.AtomicRef(cells, index=4).load()
    kapi.AtomicRef(cells, index=5).exchange(expected)


@dpex.kernel
def count_bits(item: kapi.Item, cells, values):
    i = item.get_id(0)
    kapi.AtomicRef(cells, index=0).fetch_and(values[i])
    kapi.AtomicRef(cells, index=1).fetch_or(values[i])
    kapi.AtomicRef(cells, index=2).fetch_xor(values[i])


def test_stack_ranges_local_memory_barriers():
    a = dpnp.empty((3, 4, 5), dtype="i4")
    dpex.call_kernel(cube, kapi.Range(3, 4, 5), a)
    x, y, z = np.indices((3, 4, 5))
    assert (a.asnumpy() == 5000 + 100 * x + 10 * y + z).all()
    for size, group in (1024, 256), (256, 16), (5, 5):
        values = dpnp.arange(size, dtype="f8")
        result = dpnp.empty_like(values)
        local = kapi.LocalAccessor((group,), dtype=values.dtype)
        dpex.call_kernel(reverse_groups, kapi.NdRange((size,), (group,)), values, result, local)
        wanted = (4 * np.arange(size) + 6.0).reshape(-1, group)[:, ::-1].ravel()
        assert (result.asnumpy() == wanted).all()


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_stack_atomics(dtype):
    numbers = np.random.default_rng(2).integers(1, 100, 5000).astype(dtype)
    start = np.array([0, 1 << 20, 1000, 0, 0, 0], dtype)
    cells, values = dpnp.asarray(start), dpnp.asarray(numbers)
    dpex.call_kernel(count, kapi.Range(5000), cells, values)
    total = numbers.sum()
    wanted = [total, (1 << 20) - total, numbers.min(), numbers.max(), numbers[0], numbers[0]]
    assert cells.asnumpy().tolist() == wanted
    if np.dtype(dtype).kind == "f":
        return
    cells = dpnp.asarray(np.array([127, 0, 0], dtype))
    dpex.call_kernel(count_bits, kapi.Range(5000), cells, values)
    reduced = [op.reduce(numbers) for op in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)]
    assert cells.asnumpy().tolist() == [127 & reduced[0], *reduced[1:]]
