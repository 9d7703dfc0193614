"""Memory of one process in another: export, import, copies both ways, the host's mapping, no leaks."""

from __future__ import annotations

import ctypes
import os
import struct

import pytest
from subprocesses import program, run_program

import ishmem  # noqa: F401  # isort: skip  (makes the SYCL stack load)
import dpctl
import dpctl.memory

from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.ipc import handles, native, pyze, wire

SIZE = 8192


def n_fds():
    return len(os.listdir("/proc/self/fd"))


def memfd(size):
    fd = os.memfd_create("test")
    os.ftruncate(fd, size)
    return fd


class Heap:
    """Device memory at an offset of a pool, with its native handles and a copy path."""

    def __init__(self):
        queue = dpctl.SyclQueue(dpctl.get_devices("level_zero", "gpu")[0])
        pool = [dpctl.memory.MemoryUSMDevice(size, queue=queue) for size in (512, SIZE, SIZE)]
        self.pad, self.memory = pool[:2], pool[2]
        self.context = native.context(queue.sycl_context)
        self.device = native.device(queue.sycl_device)
        self.pointer = self.memory._pointer
        self.clist = pyze.create_immediate(self.context, self.device)

    def write(self, pointer, data):
        source = ctypes.create_string_buffer(data, len(data))
        pyze.append_copy(self.clist, pointer, ctypes.addressof(source), len(data))

    def read(self, pointer, size):
        result = ctypes.create_string_buffer(size)
        pyze.append_copy(self.clist, ctypes.addressof(result), pointer, size)
        return result.raw

    def export(self):
        return handles.export(self.context, self.pointer)


@pytest.fixture(scope="module")
def heap():
    return Heap()


def host_bytes(view, size):
    return ctypes.string_at(view.address, size)


# ---- two processes


FORMATS = ["fd", "pool", "opaque", "opaque-strict", "tiles"]


@pytest.mark.slow_cases("other formats", "opaque-strict")
@pytest.mark.slow_cases("the same with other settings", "pool", "tiles")
@pytest.mark.parametrize("mode", FORMATS)
def test_two_processes_share_heaps(mode):
    """The heap is at an offset of what SYCL has allocated, and that is at one of the driver's pool, or on two tiles.

    Each PE writes the other's heap by the copy engine and by the host's mapping.
    """
    pools = {f"{name}_USM_ALLOCATOR": "1;128M;device:64M,8,32M" for name in ("UR_L0", "SYCL_PI_LEVEL_ZERO")}
    env = {**pools, "ISHMEM_SIM_IPC": mode, "ISHMEM_COPY_CUTOVER": "1"}
    done = run_program(program("heap_in_a_pool"), 2, env=env, sim=2)
    assert done.returncode == 0, done.stdout + done.stderr
    pool, parts = 0 if mode in ("fd", "tiles") else 131072, 2 if mode == "tiles" else 1
    assert sorted(done.stdout.splitlines()) == [f"[{pe}] True {pool} {parts}" for pe in range(2)]


# ---- one process


def test_export_is_the_base_and_an_offset(heap):
    before = n_fds()
    exports = [heap.export() for _ in range(3)]
    assert exports[0] == exports[1] == exports[2]
    base, size = pyze.address_range(heap.context, heap.pointer)
    assert (heap.pointer - base, size) == (exports[0].offset, exports[0].size)
    assert handles.Export.unpack(exports[0].pack()) == exports[0]
    assert all(map(os.fstat, exports[0].fds))
    assert n_fds() <= before + 1  # the driver's own


HEAD = struct.Struct("<QQQI")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(27),
        b"\xff" * 92,
        HEAD.pack(0, 64, 0, 0),
        HEAD.pack(0, 64, 0, 1) + bytes(63),
        HEAD.pack(0, 64, 0, 1) + bytes(65),
        HEAD.pack(0, 64, 0, 17) + bytes(17 * 64),
        HEAD.pack(64, 64, 64, 1) + bytes(64),
        HEAD.pack(32, 64, 31, 1) + bytes(64),
    ],
)
def test_unpack_refuses_what_is_no_export(data):
    with pytest.raises(IshmemError, match="export"):
        handles.Export.unpack(data)


def test_a_mapping_closes_once(heap):
    export = heap.export()
    before = n_fds()
    mapping = handles.open_export(heap.context, heap.device, export, [os.dup(export.fds[0])])
    heap.write(heap.pointer, b"seen twice")
    assert heap.read(mapping.pointer, 10) == b"seen twice"
    mapping.close()
    mapping.close()
    assert n_fds() == before
    assert os.fstat(export.fds[0])


def test_an_allocation_of_other_parts_is_refused(heap):
    export = heap.export()
    with pytest.raises(IshmemError, match="1 parts came with 2"):
        handles.open_export(heap.context, heap.device, export, [memfd(64), memfd(64)])


@pytest.mark.parametrize(
    "foreign",
    [lambda: os.open(os.devnull, os.O_RDWR), lambda: os.open(__file__, os.O_RDONLY), lambda: memfd(0)],
    ids=["device file", "text file", "empty memory"],
)
def test_a_foreign_descriptor_is_an_error_and_is_closed(heap, foreign):
    export = heap.export()
    # the handle's own descriptor number is no help either: it names nothing here
    unknown = b"\xff\xff\xff\x7f" + export.handles[0][4:]
    export = handles.Export(export.offset, export.size, export.fd_offset, (unknown,))
    fd = foreign()
    with pytest.raises(LevelZeroError, match="zeMemOpenIpcHandle"):
        handles.open_export(heap.context, heap.device, export, [fd])
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


@pytest.mark.parametrize(
    ("codes", "tried"),
    [([], 1), ([pyze.INVALID_ARGUMENT], 2), ([0x70000001], 1)],
    ids=["opens", "retries", "fails"],
)
def test_the_unpatched_handle_is_the_second_choice(heap, monkeypatch, codes, tried):
    seen = []

    def open_ipc_handle(context, device, handle):
        seen.append(handle)
        if len(seen) <= len(codes):
            raise LevelZeroError("zeMemOpenIpcHandle", codes[len(seen) - 1], "chosen")
        return 4096

    monkeypatch.setattr(pyze, "open_ipc_handle", open_ipc_handle)
    export, fd = handles.Export(16, 64, 16, (bytes(range(64)),)), memfd(64)
    if codes and tried == 1:
        with pytest.raises(LevelZeroError, match="chosen"):
            handles.open_export(heap.context, heap.device, export, [fd])
    else:
        assert handles.open_export(heap.context, heap.device, export, [fd]).pointer == 4112
    patched = fd.to_bytes(4, "little") + export.handles[0][4:]
    assert seen == [patched, export.handles[0]][:tried]
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


def test_only_device_memory_can_be_exported(heap):
    with pytest.raises(LevelZeroError):
        handles.export(heap.context, ctypes.addressof(ctypes.create_string_buffer(64)))


@pytest.mark.parametrize(("size", "offset"), [(4096, 0), (100, 4096), (4096, 4100), (1, 12287)])
def test_map_host(size, offset):
    fd = memfd(12288)
    os.pwrite(fd, b"here", offset)
    before = n_fds()
    view = handles.map_host([fd], size, offset)
    os.close(fd)
    assert host_bytes(view, min(size, 4)) == b"here"[: min(size, 4)]
    ctypes.memset(view.address, 7, size)
    assert host_bytes(view, size) == bytes([7]) * size
    view.close()
    view.close()
    assert n_fds() == before - 1


@pytest.mark.parametrize(("size", "offset"), [(20480, 0), (100, 8190), (4100, 4097), (8192, 12288), (1, 20479)])
def test_map_host_of_several_parts(size, offset):
    """The parts are mapped contiguously: 8192, 8192 and 4096 bytes here."""
    fds, content = [memfd(8192), memfd(8192), memfd(4096)], os.urandom(20480)
    for fd, start in zip(fds, (0, 8192, 16384)):
        os.pwrite(fd, content[start : start + os.fstat(fd).st_size], 0)
    view = handles.map_host(fds, size, offset)
    assert host_bytes(view, size) == content[offset : offset + size]
    ctypes.memset(view.address, 7, size)
    written = b"".join(os.pread(fd, 8192, 0) for fd in fds)
    assert written == content[:offset] + bytes([7]) * size + content[offset + size :]
    view.close()
    with pytest.raises(IshmemError, match="they hold 20480 bytes"):
        handles.map_host(fds, size + 1, 20480 - size)
    wire.close_fds(fds)


def test_map_host_refuses():
    before = n_fds()
    fd = memfd(4096)
    for size, offset in [(8192, 0), (4096, 4096), (0, 0), (-1, 0)]:
        with pytest.raises(IshmemError, match="cannot map"):
            handles.map_host([fd], size, offset)
    os.close(fd)
    reader, writer = os.pipe()
    for unmappable in (reader, fd, -1):
        with pytest.raises(IshmemError, match="cannot map"):
            handles.map_host([unmappable], 4096)
    wire.close_fds([reader, writer])
    assert n_fds() == before


# ---- native handles


def test_native_handles_are_those_of_the_driver():
    device = dpctl.get_devices("level_zero", "gpu")[0]
    queue = dpctl.SyclQueue(device)
    assert native.device(device) in pyze.devices(pyze.drivers()[0])
    assert native.device(device) == native.device(queue.sycl_device)
    assert native.context(queue.sycl_context) == native.context(dpctl.SyclQueue(device).sycl_context)
    handle, immediate = native.queue(queue)
    assert handle > 0
    assert immediate in (True, False)


def test_native_refuses_other_types():
    queue = dpctl.SyclQueue(dpctl.get_devices("level_zero", "gpu")[0])
    for call in (native.context, native.device, native.queue):
        for thing in (None, 5, "level_zero:gpu:0", object()):
            with pytest.raises(TypeError, match=r"expected a dpctl\.Sycl"):
                call(thing)
    with pytest.raises(TypeError):
        native.context(queue)


def test_native_refuses_other_backends():
    others = dpctl.get_devices("opencl")
    if not others:
        pytest.skip("no OpenCL device here")
    queue = dpctl.SyclQueue(others[0])
    for call, thing in [
        (native.context, queue.sycl_context),
        (native.device, others[0]),
        (native.queue, queue),
    ]:
        with pytest.raises(ValueError, match="only level_zero"):
            call(thing)
