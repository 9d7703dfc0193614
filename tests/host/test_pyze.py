"""The binding: properties, memory, copies, and errors that carry call and result."""

from __future__ import annotations

import ctypes
import struct

import level_zero
import pytest

import ishmem  # noqa: F401
from ishmem.common.errors import LevelZeroError
from ishmem.ipc import pyze

SIZES = {
    pyze.ze_driver_properties_t: 40,
    pyze.ze_driver_ipc_properties_t: 24,
    pyze.ze_device_properties_t: 368,
    pyze.ze_device_compute_properties_t: 88,
    pyze.ze_command_queue_group_properties_t: 40,
    pyze.ze_device_memory_properties_t: 296,
    pyze.ze_device_memory_access_properties_t: 40,
    pyze.ze_device_p2p_properties_t: 24,
    pyze.ze_context_desc_t: 24,
    pyze.ze_command_queue_desc_t: 40,
    pyze.ze_command_list_desc_t: 24,
    pyze.ze_event_pool_desc_t: 24,
    pyze.ze_event_desc_t: 32,
    pyze.ze_fence_desc_t: 24,
    pyze.ze_device_mem_alloc_desc_t: 24,
    pyze.ze_host_mem_alloc_desc_t: 24,
    pyze.ze_memory_allocation_properties_t: 40,
    pyze.ze_module_desc_t: 56,
    pyze.ze_kernel_desc_t: 32,
    pyze.ze_kernel_properties_t: 96,
    pyze.ze_group_count_t: 12,
    pyze.ze_kernel_timestamp_result_t: 32,
    pyze.ze_ipc_mem_handle_t: 64,
}


@pytest.fixture(scope="module")
def driver():
    return pyze.drivers()[0]


@pytest.fixture(scope="module")
def device(driver):
    return pyze.devices(driver)[0]


@pytest.fixture(scope="module")
def context(driver):
    context = level_zero.create_context(driver)
    yield context
    pyze.zeContextDestroy(context)


@pytest.fixture
def memory(context, device):
    pointer = level_zero.alloc_device(context, device, 8192)
    yield pointer
    pyze.zeMemFree(context, pointer)


def address(buffer):
    return ctypes.addressof(buffer)


@pytest.mark.parametrize("kind", SIZES, ids=lambda kind: kind.__name__)
def test_structure_sizes(kind):
    assert ctypes.sizeof(kind) == SIZES[kind]
    if issubclass(kind, pyze.Tagged):
        assert kind().stype == kind.STYPE > 0


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pyze.no_such_name
    with pytest.raises(AttributeError, match="ze_no_such_t"):
        _ = pyze.ze_no_such_t
    with pytest.raises(LevelZeroError, match="zeNoSuchCall failed: ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"):
        _ = pyze.zeNoSuchCall


def test_driver(driver):
    assert pyze.api_version(driver) >= (1, 3)
    assert pyze.driver_ipc_properties(driver).flags & pyze.IPC_MEMORY
    assert pyze.driver_properties(driver).driverVersion > 0


def test_device(driver, device):
    properties = pyze.device_properties(device)
    assert properties.type == pyze.DEVICE_TYPE_GPU
    assert not properties.flags & pyze.DEVICE_INTEGRATED
    assert properties.name
    assert properties.maxMemAllocSize > 1 << 20
    assert any(properties.uuid.id)
    assert len({bytes(pyze.device_properties(each).uuid) for each in pyze.devices(driver)}) == len(
        pyze.devices(driver)
    )
    assert sum(memory.totalSize for memory in pyze.memory_properties(device)) > 1 << 20
    assert pyze.memory_access_properties(device).deviceAllocCapabilities & pyze.ACCESS_RW
    assert pyze.queue_groups(device)[0].flags & pyze.QUEUE_COMPUTE
    assert level_zero.compute_properties(device).maxTotalGroupSize >= 64
    for sub_device in level_zero.sub_devices(device):
        assert pyze.device_properties(sub_device).flags & pyze.DEVICE_SUBDEVICE


def test_peers(driver):
    for device in pyze.devices(driver):
        for peer in pyze.devices(driver):
            flags = pyze.p2p_properties(device, peer).flags
            assert pyze.can_access_peer(device, peer) == bool(flags & pyze.P2P_ACCESS) or device == peer


def test_memory_kinds(context, device):
    kinds = {
        pyze.MEMORY_DEVICE: level_zero.alloc_device(context, device, 4096),
        pyze.MEMORY_SHARED: level_zero.alloc_shared(context, device, 4096),
        pyze.MEMORY_HOST: pyze.alloc_host(context, 4096),
    }
    for kind, pointer in kinds.items():
        properties, owner = pyze.alloc_properties(context, pointer + 100)
        assert properties.type == kind
        assert owner == (0 if kind == pyze.MEMORY_HOST else device)
        base, size = pyze.address_range(context, pointer + 100)
        assert base == pointer
        assert size >= 4096
        pyze.zeMemFree(context, pointer)
    properties, owner = pyze.alloc_properties(context, address(ctypes.create_string_buffer(8)))
    assert (properties.type, owner) == (pyze.MEMORY_UNKNOWN, 0)


def test_copy_and_fill_through_an_immediate_list(context, device, memory):
    clist = pyze.create_immediate(context, device)
    source, result = ctypes.create_string_buffer(bytes(range(256)), 256), (ctypes.c_uint8 * 512)()
    level_zero.append_fill(clist, memory, b"\x01\x02\x03\x04", 512)
    pyze.append_copy(clist, memory + 64, address(source), 256)
    pyze.append_barrier(clist)
    pyze.append_copy(clist, address(result), memory, 512)
    pattern = bytes([1, 2, 3, 4])
    assert bytes(result) == pattern * 16 + bytes(range(256)) + pattern * 48
    pyze.zeCommandListDestroy(clist)


def test_copy_through_a_queue_with_fence_and_event(context, device, memory):
    queue, clist = pyze.create_queue(context, device), pyze.create_list(context, device)
    pool, fence = pyze.create_event_pool(context, 1), level_zero.create_fence(queue)
    event = pyze.create_event(pool, 0)
    source, result = ctypes.create_string_buffer(b"twelve bytes", 12), ctypes.create_string_buffer(12)
    assert pyze.zeEventQueryStatus(event) == pyze.NOT_READY
    pyze.append_copy(clist, memory, address(source), 12, signal=event)
    pyze.append_copy(clist, address(result), memory, 12, waits=[event])
    pyze.zeCommandListClose(clist)
    pyze.execute(queue, [clist], fence)
    assert pyze.zeFenceHostSynchronize(fence, pyze.FOREVER) == pyze.SUCCESS
    assert pyze.zeCommandQueueSynchronize(queue, pyze.FOREVER) == pyze.SUCCESS
    assert pyze.zeEventQueryStatus(event) == pyze.SUCCESS
    assert result.raw == b"twelve bytes"
    pyze.zeEventDestroy(event)
    pyze.zeEventPoolDestroy(pool)
    pyze.zeFenceDestroy(fence)
    pyze.zeCommandListDestroy(clist)
    pyze.zeCommandQueueDestroy(queue)


def test_an_error_carries_call_and_result(context, device):
    with pytest.raises(LevelZeroError) as caught:
        pyze.open_ipc_handle(context, device, bytes(64))
    assert caught.value.call == "zeMemOpenIpcHandle"
    assert caught.value.result == pyze.result_name(caught.value.code)
    assert "zeMemOpenIpcHandle failed: ZE_RESULT_ERROR_" in str(caught.value)


def test_an_error_names_device_and_driver(context, monkeypatch):
    monkeypatch.setattr(pyze, "_device", "")
    pyze.name_in_errors("GPU at 0000:03:00.0, driver 1.15.39122")
    with pytest.raises(LevelZeroError, match=r"; on GPU at 0000:03:00.0, driver 1.15.39122$") as caught:
        pyze.zeMemGetAddressRange(context, None, None, None)
    assert "GPU" not in caught.value.brief


def test_null_pointer_and_unknown_result(context):
    with pytest.raises(LevelZeroError, match=r"ZE_RESULT_ERROR_INVALID_NULL_POINTER|INVALID_ARGUMENT"):
        pyze.zeMemGetAddressRange(context, None, None, None)
    assert pyze.result_name(0x12345) == "unknown result"


@pytest.mark.parametrize("spirv", [b"no SPIR-V at all", struct.pack("<5I", 0x07230203, 0x10000, 0, 1, 0) * 3])
def test_a_module_that_does_not_build(context, device, spirv):
    with pytest.raises(LevelZeroError) as caught:
        pyze.create_module(context, device, spirv)
    assert caught.value.call == "zeModuleCreate"
