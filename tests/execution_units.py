"""One hardware thread of the emulated card, for tests: instructions as text, registers as arrays."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PROJECT = Path(__file__).parent.parent
XE2, XE_HPC = 2001, 1260
CORRECTLY_ROUNDED = 0x4C0  # the control register as the compiler sets it: denormals are kept
MEMORY = 0x10000  # address of the memory of a thread
CALL_BYTES = 1000


class Refused(Exception):
    """The thread could not execute an instruction."""


def library() -> Any:
    """Return the probe that the build of ishmem has made.

    Raises:
        OSError: There is none, or no libiga64.so.2, which a process on an emulated card finds.
    """
    probes = sorted(PROJECT.glob("build/*/emulator/eu/libemulator_eu_probe.so"), key=lambda path: path.stat().st_mtime)
    if not probes:
        raise OSError("the build has made no libemulator_eu_probe.so")
    ctypes.CDLL("libiga64.so.2")
    return ctypes.CDLL(str(probes[-1]))


class Thread:
    """Registers, flags and memory of a thread of 32 channels."""

    def __init__(self, probe: Any, generation: int = XE2) -> None:
        self.probe, self.generation = probe, generation
        self.registers = np.zeros(256 * 64, np.uint8)
        self.flags = np.zeros(4, np.uint32)
        self.control = np.array([CORRECTLY_ROUNDED], np.uint32)
        self.memory = np.zeros(1 << 14, np.uint8)

    def set(self, register: int, values: Any) -> None:
        """Write values from the beginning of a register on."""
        bytes_ = np.ascontiguousarray(values).view(np.uint8)
        self.registers[64 * register : 64 * register + bytes_.size] = bytes_

    def get(self, register: int, dtype: Any, count: int) -> Any:
        """Return a copy of values from the beginning of a register on."""
        return self.registers[64 * register :].view(dtype)[:count].copy()

    def run(self, text: str, active: int = 0xFFFFFFFF) -> Thread:
        """Execute instructions with these active channels.

        Raises:
            Refused: an instruction is not known, or it failed.
        """
        error = ctypes.create_string_buffer(CALL_BYTES)
        pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (self.registers, self.flags, self.control)]
        memory = self.memory.ctypes.data_as(ctypes.c_void_p)
        failed = self.probe.eu_probe(
            self.generation, text.encode(), *pointers, ctypes.c_uint32(active), memory,
            ctypes.c_uint64(self.memory.size), error, ctypes.c_size_t(CALL_BYTES))  # fmt: skip
        if failed:
            raise Refused(error.value.decode())
        return self


class Card(NamedTuple):
    """A card of one Xe core with so many hardware threads, which run in an order that the seed chooses."""

    probe: Any
    slots: int = 8
    seed: int = 0

    def run(self, text: str, memory: Any, groups: int = 1, threads: int = 1, patience: int = 60000) -> None:
        """Execute instructions as thread groups; stop them after `patience` ms.

        Raises:
            Refused: the walker failed.
        """
        error = ctypes.create_string_buffer(CALL_BYTES)
        failed = self.probe.eu_walk(
            XE2, self.slots, ctypes.c_uint64(self.seed), text.encode(), groups, threads,
            memory.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(memory.nbytes), patience, error,
            ctypes.c_size_t(CALL_BYTES))  # fmt: skip
        if failed:
            raise Refused(error.value.decode())
