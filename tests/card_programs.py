"""Programs on an emulated card that test_emulator_machine.py runs, one in a process: python card_programs.py NAME.

What stands below the first line of a docstring is what the emulator has to print; of one line: nothing.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import threading
import time

from card_client import BATCH, COMPUTE, COPY, DATA, READ_ONLY, SIZE, UNMAP, Card, Context, error_of, words

STORE, STORE_QWORD = 0x10000002, 0x10200003


def _save(register: int, at: int) -> tuple[int, ...]:
    return 0x12000002, register, *words(at)


def stores() -> None:
    """MI_STORE_DATA_IMM, and the same by PIPE_CONTROL and MI_FLUSH_DW."""
    context = Context()
    post_sync = 0x7A000004, 1 << 14 | 1 << 20, *words(DATA + 16), *words(0x1122334455667788)
    flush = 0x13004003, *words(DATA + 24), *words(0x99AABBCCDDEEFF00)
    store, store_qword = (STORE, *words(DATA), 7), (STORE_QWORD, *words(DATA + 8), *words(1 << 40 | 9))
    assert context.run(*store, *store_qword, *post_sync, *flush) == 0
    assert (context.word(0), context.qword(8)) == (7, 1 << 40 | 9)
    assert (context.qword(16), context.qword(24)) == (0x1122334455667788, 0x99AABBCCDDEEFF00)


def timestamps() -> None:
    """Timestamps of PIPE_CONTROL, MI_FLUSH_DW and the registers of the engine and of its context grow."""
    context = Context()
    pipe = 0x7A000004, 3 << 14, *words(DATA), 0, 0
    flush = 0x1300C003, *words(DATA + 8), 0, 0
    saves = [_save(register, DATA + 16 + 4 * k) for k, register in enumerate((0x2358, 0x235C, 0x23A8, 0x23AC))]
    assert context.run(*pipe, *flush, *(word for save in saves for word in save)) == 0
    assert 0 < context.qword(0) <= context.qword(8) <= context.qword(16) <= context.qword(24)


def registers() -> None:
    """MI_LOAD_REGISTER_IMM, _REG and _MEM, MI_STORE_REGISTER_MEM, MI_COPY_MEM_MEM."""
    context = Context()
    context.set(64, 77)
    load = 0x11000003, 0x2600, 5, 0x2608, 6
    move = 0x15000001, 0x2608, 0x2610
    load_memory = 0x14800002, 0x2618, *words(DATA + 64)
    saves = *_save(0x2600, DATA), *_save(0x2610, DATA + 4), *_save(0x2618, DATA + 8)
    assert context.run(*load, *move, *load_memory, *saves, 0x17000003, *words(DATA + 12), *words(DATA + 64)) == 0
    assert [context.word(at) for at in (0, 4, 8, 12)] == [5, 6, 77, 77]


def registers_of_copy_engines() -> None:
    """A copy engine has its registers at offsets of its own."""
    context = Context(COPY)
    assert context.run(0x11020001, 0x22608, 6, *_save(0x22608, DATA)) == 0
    assert context.word(0) == 6


def arithmetic_in_memory() -> None:
    """MI_MATH of words whose addresses are in registers."""
    context = Context()
    context.set(64, 1 << 40 | 7, "Q")
    load = 0x11000007, 0x2600, DATA + 64, 0x2604, 0, 0x2608, DATA + 72, 0x260C, 0
    fetch = 0x082 << 20 | 3 << 10, 1 << 20, 0x080 << 20 | 0x20 << 10 | 3, 0x081 << 20 | 0x21 << 10, 0x100 << 20
    program = *fetch, 0x181 << 20 | 1 << 10 | 0x31, 2 << 20
    assert context.run(*load, 0x0D000000 | len(program) - 1, *program) == 0
    assert context.qword(72) == 1 << 40 | 7


def indirect_start() -> None:
    """MI_BATCH_BUFFER_START goes where a register says, and not where its own words do."""
    context = Context()
    context.batch(STORE, *words(DATA), 5, at=1024)
    place = words(BATCH + 1024)
    assert context.run(0x11000003, 0x2600, place[0], 0x2604, place[1], 0x18840101, 0, 0, STORE, *words(DATA), 6) == 0
    assert context.word(0) == 5


def _math(first: int, second: int, operation: int, result: int) -> int:
    """Compute in MI_MATH; `result` is the operand that is stored."""
    context = Context()
    halves = zip(range(0x2600, 0x2610, 4), (*words(first), *words(second)))
    values = 0x11000007, *(word for pair in halves for word in pair)
    program = 0x080 << 20 | 0x20 << 10, 0x080 << 20 | 0x21 << 10 | 1, operation << 20, 0x180 << 20 | 2 << 10 | result
    saves = *_save(0x2610, DATA), *_save(0x2614, DATA + 4)
    assert context.run(*values, 0x0D000000 | len(program) - 1, *program, *saves) == 0
    return context.qword(0)


def arithmetic() -> None:
    """MI_MATH: results and flags."""
    accumulator, zero, carry = 0x31, 0x32, 0x33
    every = (1 << 64) - 1
    assert _math(1 << 40, 5, 0x100, accumulator) == (1 << 40) + 5
    assert _math(7, 7, 0x101, zero) == every and _math(7, 6, 0x101, zero) == 0
    assert _math(6, 7, 0x101, carry) == every and _math(7, 7, 0x101, carry) == 0
    assert _math(every, 1, 0x100, carry) == every
    assert _math(0b1100, 0b1010, 0x102, accumulator) == 0b1000
    assert _math(0b1100, 0b1010, 0x103, accumulator) == 0b1110
    assert _math(0b1100, 0b1010, 0x104, accumulator) == 0b0110


def atomics() -> None:
    """MI_ATOMIC of 32 and 64 bits."""
    context = Context()
    context.set(0, 10)
    context.set(8, 1 << 40, "Q")
    increment = 0x17800001 | 0x05 << 8, *words(DATA)
    add = 0x17800009 | 0x07 << 8 | 1 << 18, *words(DATA), 5, *[0] * 7
    wide = 0x17800009 | 0x28 << 8 | 1 << 18 | 1 << 19, *words(DATA + 8), 1, 0, 0, *[0] * 5
    assert context.run(*increment, *add, *wide) == 0
    assert (context.word(0), context.qword(8)) == (16, (1 << 40) - 1)


def semaphores() -> None:
    """MI_SEMAPHORE_WAIT ends when the host writes what each comparison waits for."""
    context = Context()
    # Greater, at least, less, at most, equal, not equal: of the memory, compared with the packet's data.
    cases = (5, 6), (5, 5), (5, 4), (5, 5), (5, 5), (5, 9)
    start = 5, 4, 5, 6, 4, 5
    for how, ((data, written), before) in enumerate(zip(cases, start)):
        context.set(0, before)
        context.set(4, 0)
        context.batch(0x0E000003 | 1 << 15 | how << 12, data, *words(DATA), 0, STORE, *words(DATA + 4), 1)
        context.submit()
        time.sleep(0.01)
        assert context.word(4) == 0, how
        context.set(0, written)
        assert context.wait() == 0 and context.word(4) == 1, how


def batches() -> None:
    """MI_BATCH_BUFFER_START calls a second level and chains; an end returns, or ends."""
    context = Context()
    context.batch(STORE, *words(DATA), 1, at=0x1000)
    context.batch(STORE, *words(DATA + 4), 2, at=0x2000)
    call, chain = (0x18800001 | 1 << 22, *words(BATCH + 0x1000)), (0x18800001, *words(BATCH + 0x2000))
    assert context.run(*call, *chain, STORE, *words(DATA + 8), 3) == 0
    assert [context.word(at) for at in (0, 4, 8)] == [1, 2, 0]


def conditions() -> None:
    """MI_CONDITIONAL_BATCH_BUFFER_END goes on while memory compares; a predicated start is skipped."""
    context = Context()
    context.set(0, 4)
    end = 0x1B000002 | 1 << 21, 4, *words(DATA)
    assert context.run(*end, STORE, *words(DATA + 4), 1) == 0 and context.word(4) == 0
    context.set(0, 5)
    assert context.run(*end, STORE, *words(DATA + 4), 1) == 0 and context.word(4) == 1
    context.batch(at=0x1000)
    skipped = 0x18800001 | 1 << 15, *words(BATCH + 0x1000)
    result = 0x11000001, 0x23BC
    for value, reached in (0, 1), (1, 0):
        context.set(8, 0)
        assert context.run(*result, value, 0x00800001, *skipped, STORE, *words(DATA + 8), 1) == 0
        assert context.word(8) == reached


def copies() -> None:
    """MEM_COPY and MEM_SET, in lines and in rectangles, and from one mapping into the next."""
    context = Context(COPY)
    context.card.bind(context.space, context.card.create(), DATA + SIZE)
    context.data[:256] = bytes(range(256))
    memset = 0x56C00005, 9, 0, 9, *words(DATA + 1024), 0x5A000000
    line = 0x56800008, 255, 0, 255, 255, *words(DATA), *words(DATA + 2048), 0
    over = 0x56800008, 255, 0, 255, 255, *words(DATA), *words(DATA + SIZE - 100), 0
    back = 0x56800008, 255, 0, 255, 255, *words(DATA + SIZE - 100), *words(DATA + 4096), 0
    rectangle = 0x56820008, 3, 1, 15, 7, *words(DATA), *words(DATA + 3072), 0
    assert context.run(*memset, *line, *over, *back, *rectangle) == 0
    assert context.data[1023:1035] == b"\0" + b"Z" * 10 + b"\0"
    assert context.data[2048:2304] == context.data[4096 : 4096 + 256] == bytes(range(256))
    assert context.data[3072:3088] == bytes([0, 1, 2, 3, 0, 0, 0, 0, 16, 17, 18, 19, 0, 0, 0, 0])


def blits() -> None:
    """XY_BLOCK_COPY_BLT and XY_FAST_COLOR_BLT of 32-bit pixels."""
    context = Context(COPY)
    context.data[:256] = bytes(range(256))
    copy = 0x50400014 | 2 << 19, 31, 0, 2 << 16 | 3, *words(DATA + 1024), 0, 1 << 16 | 1, 63, *words(DATA), *[0] * 11
    colour = 0x51000009 | 2 << 19, 31, 0, 1 << 16 | 3, *words(DATA + 2048), 0, 0xA1B2C3D4, 0, 0, 0
    assert context.run(*copy[:22], *colour) == 0
    assert context.data[1024:1036] == bytes(range(68, 80)) and context.data[1056:1068] == bytes(range(132, 144))
    assert context.data[2048:2064] == struct.pack("I", 0xA1B2C3D4) * 3 + bytes(4)


def refused_packets() -> None:
    """Packets, forms and registers that are unknown, those of another engine, and a batch that is not mapped.

    compute engine 0: the batch at 0x200000: command 0x1f800000 is unknown. The context is banned|\
MI_SEMAPHORE_WAIT at 0x200000: a wait for a signal is not emulated, first word 0x0e000003. The context is banned|\
MI_LOAD_REGISTER_IMM at 0x200000: register 0x2010 is unknown. The context is banned|\
MEM_SET at 0x200000: this engine does not have the command. The context is banned|\
the batch at 0x500000: page fault: read of 4 bytes at 0x500000. The context is banned
    """
    for packets in (
        (0x1F800000,),
        (0x0E000003, 0, *words(DATA), 0),
        (0x11000001, 0x2010, 1),
        (0x56C00005, 9, 0, 9, *words(DATA), 0),
        (0x18800001, *words(0x500000)),
    ):
        Context(COMPUTE).fails(*packets)


def page_fault() -> None:
    """A wrong address in a packet ends the context, and no other.

    MI_STORE_DATA_IMM at 0x200010: page fault: write of 4 bytes at 0x123456000. The context is banned
    """
    context, other = Context(), Context()
    context.fails(STORE, *words(DATA), 7, STORE, *words(0x123456000), 7)
    assert context.word(0) == 7 and other.run(STORE, *words(DATA), 8) == 0


def unmapped() -> None:
    """Memory that was unmapped is a page fault; the memory around it stays mapped.

    page fault: write of 4 bytes at 0x101000
    """
    context = Context()
    context.card.bind(context.space, 0, DATA + 4096, 4096, UNMAP)
    assert context.run(STORE, *words(DATA), 1, STORE, *words(DATA + 8192), 2) == 0
    assert (context.word(0), context.word(8192)) == (1, 2)
    context.fails(STORE, *words(DATA + 4096), 3)


def read_only() -> None:
    """A write to memory that is bound for reading ends the context.

    page fault: write of 4 bytes at 0x400000
    """
    context = Context()
    context.card.bind(context.space, context.card.create(), 0x400000, flags=READ_ONLY)
    assert context.run(0x14800002, 0x2618, *words(0x400000)) == 0
    context.fails(STORE, *words(0x400000), 1)


def _import(context: Context, exporter: Card, handle: int, address: int) -> None:
    descriptor = exporter.call("export", handle, 2 | os.O_CLOEXEC, 0)[2]
    context.card.bind(context.space, context.card.call("import", 0, 0, descriptor)[0], address)


def peer_memory() -> None:
    """Another card's memory is read and written over PCIe; an atomic ends the context.

    MI_ATOMIC at 0x200000: page fault: atomic of 4 bytes at 0x400000. The context is banned
    """
    context, peer = Context(), Card(1)
    handle = peer.create(placement=2)
    _import(context, peer, handle, 0x400000)
    assert context.run(STORE, *words(0x400000), 9) == 0
    assert struct.unpack_from("I", peer.map(handle))[0] == 9
    context.fails(0x17800001 | 0x05 << 8, *words(0x400000))


def peer_atomics() -> None:
    """An atomic reaches another card's memory over Xe Link."""
    context, peer = Context(), Card(1)
    handle = peer.create(placement=2)
    _import(context, peer, handle, 0x400000)
    assert context.run(0x17800001 | 0x05 << 8, *words(0x400000)) == 0
    assert struct.unpack_from("I", peer.map(handle))[0] == 1


def other_process() -> None:
    """A descriptor gives another process the same memory; a fork goes on with the device file."""
    context = Context()
    handle = context.card.create()
    descriptor = context.card.call("export", handle, 2 | os.O_CLOEXEC, 0)[2]
    memory = context.card.map(handle)
    assert context.run(STORE, *words(DATA), 1) == 0
    child = os.fork()
    if child == 0:
        other = Context()
        other.card.bind(other.space, other.card.call("import", 0, 0, descriptor)[0], 0x400000)
        good = other.run(STORE, *words(0x400000), 5) == 0 and context.run(STORE, *words(DATA), 2) == 0
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert struct.unpack_from("I", memory)[0] == 5 and context.word(0) == 2
    context.submissions += 1  # the child's
    assert context.run(STORE, *words(DATA), 3) == 0 and context.word(0) == 3


def duplicates() -> None:
    """A duplicate of a descriptor keeps the device file open."""
    context = Context()
    duplicate = os.dup(context.card.descriptor)
    os.close(context.card.descriptor)
    context.card.descriptor = duplicate
    assert context.run(STORE, *words(DATA), 1) == 0 and context.word(0) == 1


def queues_end() -> None:
    """A queue ends while it waits for a semaphore; others go on meanwhile."""
    waits, works = Context(), Context()
    waits.batch(0x0E000003 | 1 << 15 | 4 << 12, 1, *words(DATA), 0)
    waits.submit()
    assert works.run(STORE, *words(DATA), 1) == 0
    assert waits.wait(0.05) == errno.ETIME
    ender = threading.Thread(target=waits.card.call, args=("queue_destroy", waits.queue, 0))
    ender.start()
    ender.join(20)
    assert not ender.is_alive()


def unknown_calls() -> None:
    """ioctls and queries that are unknown are errors, with a line each.

    ioctl 0xc008645f is unknown|query 0x63 is unknown
    """
    card = Card()
    assert error_of(lambda: card.call("unknown", 0)) == errno.EINVAL
    assert error_of(lambda: card.query(99)) == errno.EINVAL


def files() -> None:
    """What a driver looks for in /dev and /sys."""
    assert {"renderD128", "renderD129", "renderD130", "by-path"} <= set(os.listdir("/dev/dri"))
    for number, pci in enumerate(("0xe20b", "0xe20b", "0x64a0")):
        node = f"/sys/class/drm/renderD{128 + number}"
        with open(f"{node}/device/device") as file:
            assert file.read().strip() == pci
        real = os.path.realpath(f"/sys/dev/char/226:{128 + number}")
        assert real == os.path.realpath(node) and os.path.isdir(real)
        status = os.stat(f"/dev/dri/renderD{128 + number}")
        card = Card(number)
        assert status.st_rdev == os.fstat(card.descriptor).st_rdev == os.makedev(226, 128 + number)
    assert not os.path.exists("/dev/dri/renderD131") and not os.path.exists("/sys/class/drm/card3")
    assert os.path.exists("/dev/null") and "null" in os.listdir("/dev") and os.path.exists("/sys/devices")


def tiles() -> None:
    """A Max 1550 has two tiles, each with four compute engines, copy engines and memory."""
    card = Card()
    count = struct.unpack_from("I", card.query(0))[0]
    engines = [struct.unpack_from("HHH", card.query(0), 8 + 32 * at) for at in range(count)]
    assert {tile for _, _, tile in engines} == {0, 1}
    assert [instance for kind, instance, tile in engines if (kind, tile) == (COMPUTE, 1)] == [0, 1, 2, 3]
    assert struct.unpack_from("I", card.query(1))[0] == 3
    assert card.create(placement=4)


def no_card() -> None:
    """A choice that is wrong gives no card, and says why.

    ISHMEM_CARD=b581: card "b581" is unknown; allowed: b580, max1550, lnl. There is no card in this machine
    """
    assert os.listdir("/dev/dri") == []


def no_number() -> None:
    """A number of cards that is no number gives no card, and says why.

    ISHMEM_CARD=b580:x: "b580:x" has no number of cards; write for example b580:2.
    """
    assert os.listdir("/dev/dri") == []


if __name__ == "__main__":
    globals()[sys.argv[1]]()
