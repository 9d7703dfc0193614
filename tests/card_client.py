"""A client of an emulated card: its device file by ioctls of the kernel's xe interface, without Intel's driver.

Needs ``libishmem_emulator.so`` preloaded. Layouts are those of ``emulator/third_party/drm/xe_drm.h``.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import struct
from collections.abc import Callable

COPY, COMPUTE = 1, 4
"""Classes of engines."""
DATA, BATCH, FENCES = 0x100000, 0x200000, 0x300000
"""GPU addresses of what a `Context` maps."""
SIZE = 1 << 16

UNMAP = 1
READ_ONLY = 1
END = 0x05000000  # MI_BATCH_BUFFER_END
_FORMATS = {
    "version": (0x00, 3, "iii4xQQQQQQ"),
    "gem_close": (0x09, 1, "II"),
    "export": (0x2D, 3, "IIi"),
    "import": (0x2E, 3, "IIi"),
    "query": (0x40, 3, "QIIQ16x"),
    "gem_create": (0x41, 3, "QQIIIIH22x"),
    "mmap_offset": (0x42, 3, "QIIQ16x"),
    "vm_create": (0x43, 3, "QII16x"),
    "vm_bind": (0x45, 1, "QIIII" + "QIHHQQQIIII24x" + "IIQ16x"),
    "queue_create": (0x46, 3, "QHHIIIQ16x"),
    "queue_destroy": (0x47, 1, "II16x"),
    "queue_property": (0x48, 3, "QIIQ16x"),
    "exec": (0x49, 1, "QIIQQH22x"),
    "wait": (0x4A, 3, "QQHHIQQqII16x"),
    "unknown": (0x5F, 3, "Q"),
}
"""Number, direction and arguments of each ioctl."""


def words(value: int) -> tuple[int, int]:
    """Return a 64-bit value as the two words of a packet."""
    return value & 0xFFFFFFFF, value >> 32


def error_of(call: Callable[[], object]) -> int:
    """Return the number of the error that a call ends with, or 0."""
    try:
        call()
    except OSError as error:
        return error.errno or 0
    return 0


class Card:
    """An open device file."""

    def __init__(self, number: int = 0) -> None:
        self.descriptor = os.open(f"/dev/dri/renderD{128 + number}", os.O_RDWR | os.O_CLOEXEC)

    def call(self, name: str, *arguments: int) -> tuple[int, ...]:
        """Execute an ioctl; return its arguments as it left them. Raises OSError."""
        number, direction, layout = _FORMATS[name]
        buffer = bytearray(struct.pack(layout, *arguments))
        fcntl.ioctl(self.descriptor, direction << 30 | len(buffer) << 16 | ord("d") << 8 | number, buffer, True)
        return struct.unpack(layout, buffer)

    def query(self, number: int) -> bytes:
        """Return the answer of a query."""
        size = self.call("query", 0, number, 0, 0)[2]
        answer = ctypes.create_string_buffer(size)
        self.call("query", 0, number, size, ctypes.addressof(answer))
        return answer.raw

    def create(self, size: int = SIZE, placement: int = 1) -> int:
        """Create a buffer; return its handle. Placement 1: the host's memory; 2: that of the first tile."""
        return self.call("gem_create", 0, size, placement, 0, 0, 0, 1)[5]

    def map(self, handle: int, size: int = SIZE) -> mmap.mmap:
        """Map a buffer into the process."""
        return mmap.mmap(self.descriptor, size, offset=self.call("mmap_offset", 0, handle, 0, 0)[3])

    def bind(self, space: int, handle: int, address: int, size: int = SIZE, operation: int = 0, flags: int = 0) -> None:
        """Map a buffer into an address space, or unmap."""
        one = (0, handle, 0, 0, 0, size, address, operation, flags, 0, 0)
        self.call("vm_bind", 0, space, 0, 0, 1, *one, 0, 0, 0)


class Context:
    """An address space with memory for data, and a queue of an engine."""

    def __init__(self, engine: int = COMPUTE, number: int = 0, placement: int = 1) -> None:
        self.card = Card(number)
        self.space = self.card.call("vm_create", 0, 2, 0)[2]
        self.data, self._batch, self._fences = (self._new(at, placement) for at in (DATA, BATCH, FENCES))
        instance = ctypes.create_string_buffer(struct.pack("HHHH", engine, 0, 0, 0))
        arguments = (0, 1, 1, self.space, 0, 0, ctypes.addressof(instance))
        self.queue = self.card.call("queue_create", *arguments)[5]
        self.submissions = 0

    def _new(self, address: int, placement: int) -> mmap.mmap:
        handle = self.card.create(placement=placement)
        self.card.bind(self.space, handle, address)
        return self.card.map(handle)

    def batch(self, *packets: int, at: int = 0) -> None:
        """Write a batch that ends, at an offset of `BATCH`."""
        self._batch[at : at + 4 * len(packets) + 4] = struct.pack(f"{len(packets) + 1}I", *packets, END)

    def submit(self) -> None:
        """Execute the batch at `BATCH`."""
        self.submissions += 1
        fence = ctypes.create_string_buffer(struct.pack("QIIQQ16x", 0, 2, 1, FENCES, self.submissions))
        self.card.call("exec", 0, self.queue, 1, ctypes.addressof(fence), BATCH, 1)

    def wait(self, seconds: float = 20.0) -> int:
        """Wait for all submissions; return 0 or the number of the error."""
        place = ctypes.addressof(ctypes.c_char.from_buffer(self._fences))
        arguments = (0, place, 3, 0, 0, self.submissions, (1 << 64) - 1, int(seconds * 1e9), self.queue, 0)
        return error_of(lambda: self.card.call("wait", *arguments))

    def run(self, *packets: int) -> int:
        """Execute packets; return 0 or the number of the error of the wait."""
        self.batch(*packets)
        self.submit()
        return self.wait()

    def fails(self, *packets: int) -> None:
        """Execute packets that end the context, and check that it is banned."""
        assert self.run(*packets) == errno.EIO
        assert self.card.call("queue_property", 0, self.queue, 0, 0)[3] == 1
        assert error_of(self.submit) == errno.ECANCELED

    def word(self, offset: int) -> int:
        """Return a 32-bit word of the data."""
        return int(struct.unpack_from("I", self.data, offset)[0])

    def qword(self, offset: int) -> int:
        """Return a 64-bit word of the data."""
        return int(struct.unpack_from("Q", self.data, offset)[0])

    def set(self, offset: int, value: int, layout: str = "I") -> None:
        """Set a word of the data."""
        struct.pack_into(layout, self.data, offset, value)
