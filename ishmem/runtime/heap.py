"""The symmetric heap: one device allocation per PE, exchanged and mapped once.

Each PE allocates device USM, exports it, and opens every peer's. Kernels and the copy engine reach a peer's memory
through a device address, the host's loads and stores through a host mapping of the same memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import dpctl.memory
import numpy as np

from ishmem import _core
from ishmem.common import algorithms, callsite, kernel_wait
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.common.layout import LINE, Layout
from ishmem.common.type_tables import movable
from ishmem.common.violations import Violation
from ishmem.environment import arrays, profile
from ishmem.ipc import handles, native, pyze, wire
from ishmem.runtime import numpy_protocol, peer_device, peer_proof, peer_verdicts, startup_agreement
from ishmem.runtime.allocator import Allocation, Allocator
from ishmem.runtime.copy_engine import NEVER, host_routes, private_cutovers
from ishmem.runtime.foreign import TYPE_NUMBERS
from ishmem.runtime.freed import FreedMemory
from ishmem.runtime.kernel_routes import Route, for_kernels, left_to_hosts
from ishmem.runtime.peer_device import PeerDevice
from ishmem.runtime.peer_proof import PeerFailure
from ishmem.runtime.peer_verdicts import Verdict
from ishmem.runtime.private_memory import PrivateMemory

if TYPE_CHECKING:
    import dpctl
    import dpnp

    from ishmem.environment.settings import Settings
    from ishmem.ipc.links import Links
    from ishmem.runtime.network import Network, Node

MOST_NEAR = 255
"""Most PEs of a node in a job on several nodes: kernels read a peer's place from a table of bytes."""


FREED = 0xFF
"""Each byte of freed memory, with ``ISHMEM_CHECK``."""

QUARANTINED = 4
"""With ``ISHMEM_CHECK``, freed memory is withheld from reuse, up to the size of the heap divided by this number."""


class HeapExport(NamedTuple):
    """The export of a PE's heap, for the other PEs of its node.

    Attributes:
        device: The device of the PE.
        pattern: The random bytes at the start of the heap, for the proof of access.
        export: The exported heap.
        fds: The descriptors of the PE's lock and of its heap; code that removes one from the list closes it.
    """

    device: PeerDevice
    pattern: bytes
    export: handles.Export
    fds: list[int]


class UsmRange:
    """A range of device memory as a buffer for dpctl; it references ``keep``, the owner of the memory."""

    def __init__(self, address: int, nbytes: int, queue: dpctl.SyclQueue, keep: Any = None) -> None:
        self.keep = keep
        self.__sycl_usm_array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "syclobj": queue,
            "offset": 0,
        }

    def memory(self) -> dpctl.memory.MemoryUSMDevice:
        """Return the range as a dpctl memory object."""
        return dpctl.memory.as_usm_memory(self)


class SymmetricHeap:
    """This PE's heap and its views of all the others.

    Attributes:
        layout: Offsets in the internal part, which precedes the part for users.
        allocator: Bookkeeping of the part that users allocate from.
        freed: Detects arrays of freed allocations.
        base: Device address of this PE's heap.
        peers: Base address of every PE's heap on this PE: a device address, or the address of the host mapping where
            this PE's device does not reach the heap; a far address (``ishmem/core/far.hpp``) on other nodes.
        devices: The device of each PE of this node; None for others, as in ``locks``.
        routes: The route of this PE's kernels to each PE.
        between: The routes between all PEs of the node, indexed by their places on it.
        pair_failures: The pairs of PEs of the node, by place, that do not reach each other's memory as reported.
        late: Whether ``runtime.late_delivery`` holds operations on other PEs; kernels then use the proxy.
        atomics_by_host: For each PE, whether the hosts do all atomics on its memory, under a lock.
        locks: The mappings of these locks, one in host memory of each PE of this node.
        host_routes: The bytes from which the copy engine copies, and whether host atomics use the mapping.
        is_card: Whether the copy engine copies for the host from some size on, because the host reads the heap slowly.
        user_size: Bytes of the heap for users.
        least_cores: The least number of Xe cores of the devices of all PEs.
        private_memory: The host's mappings of this PE's other device memory.
    """

    private_memory: PrivateMemory
    is_card: bool

    def __init__(
        self,
        queue: dpctl.SyclQueue,
        user_size: int,
        pe: int,
        n_pes: int,
        node: Node,
        network: Network | None,
    ) -> None:
        """Allocate the heap with ``user_size`` bytes for programs, map it for the host; ``IshmemError`` if it fails."""
        self.pe, self.queue, self._n_pes, self.user_size, self.least_cores = pe, queue, n_pes, user_size, 0
        self._node, self._network = node, network
        self.layout = Layout(n_pes, network.width if network else n_pes)
        self.size = self.layout.size + user_size
        _check_fits(queue.sycl_device, self.size)
        self.context, self.device = native.context(queue.sycl_context), native.device(queue.sycl_device)
        pyze.name_in_errors(f"{self.own_device.name}, driver {self.own_device.driver}")
        self.memory = _allocate(self.size, user_size, queue)
        self.base = self.memory._pointer
        self.allocator = Allocator(self.layout.size, self.size)
        self.freed = FreedMemory()
        self._freed_at: dict[int, str] = {}  # with ISHMEM_CHECK: where withheld ones were freed, by offset
        self.peers: list[int] = []
        self.devices: list[PeerDevice | None] = []
        self.routes: list[Route] = []
        self.late = False
        self._worst = Route.DIRECT  # of the kernels of all PEs
        self.atomics_by_host: list[bool] = []
        self.locks: list[handles.HostMap | None] = []
        self._mappings: dict[int, handles.Mapping] = {}
        self._refusals: dict[int, str] = {}
        self.between: list[list[Route]] = []
        self.pair_failures: dict[peer_verdicts.Pair, peer_verdicts.PairFailure] = {}
        self._maps: list[handles.HostMap | None] = []
        self._export = handles.export(self.context, self.base)
        self._own = handles.map_host(self._export.fds, self.size, self._export.fd_offset)
        self._pattern = self._check_map()

    def _check_map(self) -> bytes:
        """Check that the host mapping shows random bytes that the device has written to the heap, and return them.

        Raises:
            IshmemError: The host mapping shows other memory than the heap, as with an unknown format of IPC handles.
        """
        told = os.urandom(peer_proof.LINE)
        _core.watch_device(pyze.function_address("zeDeviceGetStatus"), self.device)
        _keep(self.queue)
        self.memory.copy_from_host(told)
        pyze.zeDeviceGetStatus(self.device)  # raises when the copy has failed
        if (seen := ctypes.string_at(self._own.address, len(told))) != told:
            raise IshmemError(
                f"the host's mapping of the heap on {self.queue.sycl_device.name} shows other memory ({seen.hex()} "
                f"where {told.hex()} was written); the driver's IPC handle is {self._export.handles[0].hex()}"
            )
        return told

    @functools.cached_property
    def own_queue(self) -> dpctl.SyclQueue:
        """The queue on which host calls run device work: the program's queues may wait for the end of such a call."""
        queue = dpctl.SyclQueue(self.queue.sycl_context, self.queue.sycl_device)
        _keep(queue)
        return queue

    @functools.cached_property
    def own_device(self) -> PeerDevice:
        """The device of this PE."""
        return PeerDevice.of(self.device)

    def exchange_handles(self, links: Links, p2p: str, on_loss: str) -> dict[int, HeapExport]:
        """Exchange exports with this node's PEs, set the reported routes, and return the exports by PE; collective.

        Raises:
            IshmemError: The PEs have different releases of ishmem, heaps of different sizes, or another ``on_loss``.
        """
        self.least_cores = startup_agreement.least_cores(
            links, self._network, self.user_size, pyze.xe_cores(self.device), on_loss
        )
        lock = os.memfd_create("ishmem-lock", os.MFD_CLOEXEC)
        try:
            os.ftruncate(lock, LINE)
            packed = self.own_device.pack() + self._pattern + self._export.pack()
            parts = links.allgather(packed, [lock, *self._export.fds], what="init")
        finally:
            os.close(lock)
        offers = {pe: _offer(pe, *part) for pe, part in zip(self.near, parts)}
        self.devices = [offers[pe].device if pe in offers else None for pe in range(self._n_pes)]
        self._set_routes(self._reported_routes(links, [offers[pe].device for pe in self.near], p2p))
        return offers

    def _reported_routes(self, links: Links, devices: list[PeerDevice], p2p: str) -> list[list[Route]]:
        """Return the routes between the PEs of this node that drivers report; collective where masks hide devices."""
        asked: list[PeerDevice] = []
        if peer_device.hidden(devices):
            told = links.allgather(peer_device.ask_without_mask() if self._node.place == 0 else b"", what="init")[0][0]
            asked = peer_device.unpack_all(told)
        self._is_untold = p2p != "off" and peer_device.hidden(devices, asked)
        return peer_device.routes(devices, asked, p2p)

    def _set_routes(self, between: list[list[Route]]) -> None:
        """Set the routes between the PEs of this node."""
        self.between = between
        self.routes = [Route.STAGED] * self._n_pes
        for pe, route in zip(self.near, between[self._node.place]):
            self.routes[pe] = route

    def open(self, offers: dict[int, HeapExport], seconds: float) -> None:
        """Open every PE's heap, and prove access to those of the node by reads and writes; ``offers``: see `exchange`.

        Raises:
            IshmemError: A PE sent a heap that cannot be mapped; the device fails, or takes longer than ``seconds``.
        """
        try:
            for pe in range(self._n_pes):
                self._open(pe, offers[pe]) if pe in offers else self._open_far(pe)
        finally:
            for offer in offers.values():  # those not taken over by a mapping
                wire.close_fds(offer.fds)
        others = {
            at: peer_proof.Peer(self.peers[pe], self.routes[pe] is Route.DIRECT)
            for at, pe in enumerate(self.near)
            if pe in self._mappings
        }
        own = peer_proof.Own(self.context, self.device, self.base, self._node.place)
        self._proof = peer_proof.AccessProof(own, [offers[pe].pattern for pe in self.near], others)
        self._proof.run(seconds)

    def settle(self, links: Links) -> None:
        """Exchange which PEs do not reach each other's memory, and determine the routes; collective, after `open`."""
        parts = links.allgather(self._verdict().pack(), what="init")
        verdicts = [Verdict.unpack(part, len(self.near)) for part, _fds in parts]
        self.pair_failures = peer_verdicts.pair_failures(verdicts)
        between = [list(row) for row in self.between]
        for (low, high), trouble in self.pair_failures.items():
            route = Route.STORES if trouble.wrong == PeerFailure.ATOMICS else Route.STAGED
            between[low][high] = between[high][low] = route
        self._set_routes(between)
        for pe in list(self._mappings):
            if not self.reaches(pe):
                self._leave_to_host(pe)
        ctypes.memset(self._own.address, 0, self.layout.size)
        self._find_atomics()

    def _verdict(self) -> Verdict:
        """Return the results of this PE's proof of access to the memory of the other PEs of its node."""
        seen = self.bytes_at(0, self._proof.lines.size).copy_to_host().tobytes() if self._mappings else b""
        wrong = self._proof.check(seen)
        refusals = {self.near.index(pe): text for pe, text in self._refusals.items()}
        places = range(len(self.near))
        found = [PeerFailure.REFUSED if at in refusals else wrong.get(at, PeerFailure(0)) for at in places]
        return Verdict(found, refusals)

    def warn_of_troubles(self) -> None:
        """Warn on each PE whose device failed to access a peer's memory that the driver reports as accessible."""
        if self._is_untold and self._node.place == 0:
            callsite.warn(f"PE {self.pe}: {peer_device.UNTOLD}")
        if text := self.describe_troubles():
            callsite.warn(f"PE {self.pe}: {text}")

    def describe_troubles(self) -> str:
        """Return a description of the peers whose memory this PE cannot use as reported; empty if there are none."""
        devices = [device for device in self.devices if device]
        return peer_verdicts.describe(self.pair_failures, devices, self.near, self._node.place)

    def _leave_to_host(self, pe: int) -> None:
        """End the device's access to the heap of a PE, and use the address of the host mapping for it."""
        if mapping := self._mappings.pop(pe, None):
            mapping.close()
        mapped = self._maps[pe]
        assert mapped
        self.peers[pe] = mapped.address

    def _find_atomics(self) -> None:
        """Determine on whose memory the hosts do all atomics.

        The host of the target does the atomics of PEs of other nodes.
        """
        coherent = [device.coherent for device in self.devices if device]
        by_host = [not whole for whole in coherent] if self._network else left_to_hosts(self.between, coherent)
        self.atomics_by_host = [False] * self._n_pes
        for pe, left in zip(self.near, by_host):
            self.atomics_by_host[pe] = left
        worst = max(route for row in self.between for route in for_kernels(row, by_host))
        self._worst = Route(self._network.greatest(worst) if self._network else worst)

    def host_adds(self, pe: int) -> bool:
        """Return whether all host atomics on a PE's memory use the mapping, or are sent to the PE's node."""
        return self.host_routes[1] or self.late or self.atomics_by_host[pe] or self._maps[pe] is None

    @property
    def near(self) -> tuple[int, ...]:
        """The PEs of this node, ascending."""
        return self._node.pes

    @property
    def spans(self) -> bool:
        """Whether the job has PEs on other nodes."""
        return self._network is not None

    def kernel_routes(self) -> list[Route]:
        """Return the routes of this PE's kernels to the PEs of its node."""
        if self.late:
            return [Route.DIRECT if pe == self.pe else Route.STAGED for pe in self.near]
        return for_kernels([self.routes[pe] for pe in self.near], [self.atomics_by_host[pe] for pe in self.near])

    @property
    def is_routed(self) -> bool:
        """Whether some PE's kernels need the proxy for some operation on a PE of their node.

        The value is the same on all PEs, because collectives in kernels depend on it.
        """
        return self.layout.width > 1 if self.late else self._worst is not Route.DIRECT

    @property
    def is_staged(self) -> bool:
        """Whether some PE's kernels reach a PE of their node through the proxy only; the same on all PEs."""
        return self.is_routed if self.late else self._worst is Route.STAGED

    @property
    def needs_proxy(self) -> bool:
        """Whether a kernel of some PE of the job needs the proxy; the same on all PEs."""
        return self.spans or self.is_routed or self.late

    def attach(self, settings: Settings) -> None:
        """Write the tables that kernels read, and configure the core by the settings.

        Raises:
            IshmemError: Kernels do not reach another device, and ``ISHMEM_P2P`` requires it.
        """
        if settings.p2p == "require":
            self._require_access()
        self.late = settings.sim_order is not None
        self._configure(settings)
        self._write_tables()

    def _require_access(self) -> None:
        pairs = [(low, high) for high in range(len(self.near)) for low in range(high)]
        apart = {
            (low, high): self.pair_failures.get((low, high))
            for low, high in pairs
            if self.between[low][high] is Route.STAGED
        }
        if apart:
            devices = [device for device in self.devices if device]
            raise IshmemError(peer_verdicts.refusal(apart, devices, self.near))

    def _configure(self, settings: Settings) -> None:
        """Configure the host core with the mappings and the measured profile."""
        addresses = [each.address if each else _core.far_address(pe, 0) for pe, each in enumerate(self._maps)]
        n_nodes = len(set(self._network.nodes)) if self._network else 1
        measured = profile.find(settings, self.queue.sycl_device.name, len(addresses), n_nodes)
        by_put = measured.pop(profile.PUT, None)
        self.host_routes = cutover, mapped_atomics = host_routes(self.own_device.coherent, settings, by_put)
        cutovers = private_cutovers(self.own_device.coherent, settings, measured)
        self.is_card = cutover < NEVER
        if settings.check:
            self.allocator.quarantine = self.allocator.size // QUARANTINED
            self.allocator.ended = self._warn_if_written
        device_bytes = self.queue.sycl_device.global_mem_size
        self.private_memory = PrivateMemory(self.context, self.base, device_bytes, cutovers)
        _core.configure(
            me=self.pe, base=self.base, size=self.size, mapped=addresses, engine=self.peers, cutover=cutover,
            host_atomics=mapped_atomics, locks=self._atomic_locks() if any(self.atomics_by_host) else [],
        )  # fmt: skip
        _core.watch_violations(settings.check or self.late, self.layout.violation + Violation.at("complete"))
        configure_layout(self.layout)
        algorithms.install({**algorithms.defaults(cutover), **measured}, settings.algorithm)
        _core.set_unreachable([pe for pe in range(len(self.peers)) if not self.reaches(pe)])

    def _atomic_locks(self) -> list[int]:
        """Return for each PE the lock under which hosts do all atomics on its memory; 0 where they need none."""
        return [lock.address if lock and by_host else 0 for lock, by_host in zip(self.locks, self.atomics_by_host)]

    def _write_tables(self) -> None:
        """Write the tables that kernels read: distances, and the places of PEs where there are several nodes."""
        # Distance 0, this PE's own heap, for peers out of reach: no access goes to an invalid address.
        bases = [self.peers[pe] if self.reaches(pe) else self.base for pe in self.near]
        _core.write(self.pe, self.layout.table, distances(self.base, bases))
        if self.spans:
            _core.write(self.pe, self.layout.places, places(self.near, self._n_pes))

    def write_aliases(self, handle: int, pes: Sequence[int]) -> None:
        """Write the entries for team ``handle``, without a stride, to tables of kernels; ``pes`` are its members."""
        layout, number = self.layout, self.layout.alias(handle)
        if self.spans:
            table = places(self.near, self._n_pes)
            _core.write(self.pe, layout.places + number, bytes(table[pe] for pe in pes))
            return
        first = 8 * number
        bases = [self.peers[pe] if self.reaches(pe) else self.base for pe in pes]
        _core.write(self.pe, layout.table + first, distances(self.base, bases))
        routes = self.kernel_routes()
        _core.write(self.pe, layout.routes + first, struct.pack(f"<{len(pes)}q", *(routes[pe] for pe in pes)))

    def _open(self, pe: int, offer: HeapExport) -> None:
        """Map a PE's heap for the host, and open it for the device where the device reaches it."""
        own = pe == self.pe
        with _naming_sender(pe):
            self.locks.append(handles.map_host(offer.fds[:1], LINE))
            mapped = self._own if own else handles.map_host(offer.fds[1:], self.size, offer.export.fd_offset)
        self._maps.append(mapped)
        self.peers.append(self.base if own else mapped.address)
        if own:
            handles.make_resident(self.context, self.device, self.base, self.size)
        elif self.reaches(pe):
            self._open_for_device(pe, offer)

    def _open_for_device(self, pe: int, offer: HeapExport) -> None:
        """Open a heap for the device, or record the driver's refusal; remove its descriptors from ``offer``."""
        taken, offer.fds[1:] = offer.fds[1:], []
        try:
            with _naming_sender(pe):
                mapping = self._mappings[pe] = handles.open_export(self.context, self.device, offer.export, taken)
            handles.make_resident(self.context, self.device, mapping.pointer, self.size)
            self.peers[pe] = mapping.pointer
        except LevelZeroError as error:
            self._refusals[pe] = error.brief
            self._leave_to_host(pe)

    def _open_far(self, pe: int) -> None:
        """Add the far address of a PE of another node to the lists of peers."""
        self.locks.append(None)
        self._maps.append(None)
        self.peers.append(_core.far_address(pe, 0))

    def reaches(self, pe: int) -> bool:
        """Return whether this PE's device loads from and stores to the heap of PE ``pe``."""
        return self.routes[pe] is not Route.STAGED

    @property
    def far(self) -> list[range]:
        """The address ranges of host mappings of heaps that this PE's device does not reach."""
        return [range(base, base + self.size) for pe, base in enumerate(self.peers) if not self.reaches(pe)]

    @functools.cached_property
    def host_only(self) -> list[range]:
        """The host mappings that the copy engine leaves to the host: `far`, and those of registered memory."""
        return self.far

    def raise_lost_device(self) -> None:
        """Raise ``LevelZeroError``, with the last call of this PE's kernels, when this process has lost the device."""
        if not _core.device_status():
            return
        try:
            pyze.zeDeviceGetStatus(self.device)
        except LevelZeroError as error:
            call = kernel_wait.describe_group_call(_core.read(self.pe, self.layout.kernel_wait, kernel_wait.NBYTES))
            details = f"; the last call of a group that its kernels have begun: {call}" if call else ""
            raise pyze.failure(error.call, error.code, details) from None

    @contextlib.contextmanager
    def naming_loss(self) -> Iterator[None]:
        """Raise ``LevelZeroError`` in place of the errors that SYCL, dpctl and dpnp raise when the device is lost."""
        try:
            yield
        except Exception:
            self.raise_lost_device()
            raise
        self.raise_lost_device()

    def mark_freed(self, allocation: Allocation) -> None:
        """Set each byte of a freed allocation to `FREED`, so that its use shows: floats are NaN, integers -1."""
        self._freed_at[allocation.offset] = callsite.caller()
        if allocation.nbytes:
            self.bytes_at(allocation.offset, allocation.nbytes).memset(FREED)

    def _warn_if_written(self, allocation: Allocation) -> None:
        """Warn if a freed allocation has been written since it was freed; called before its range is reused."""
        where = self._freed_at.pop(allocation.offset)
        if not allocation.nbytes:
            return
        written = np.flatnonzero(self.bytes_at(allocation.offset, allocation.nbytes).copy_to_host() != FREED)
        if len(written):
            text = f"{allocation.what}, from {allocation.where}: bytes {written[0]} to {written[-1]}"
            callsite.warn(f"PE {self.pe}: {text} were written after it was freed at {where}")

    def array(self, allocation: Allocation, shape: Any, dtype: Any, order: str) -> dpnp.ndarray:
        """Return a new allocation as a dpnp array of a shape and dtype; ``order`` is "C" or "F"."""
        nbytes = max(math.prod(shape), 1) * np.dtype(dtype).itemsize
        memory = self.bytes_at(allocation.offset, nbytes)
        self.freed.add(allocation, memory)
        return _wrap(memory, shape, dtype, order=order)

    def bytes_of(self, allocation: Allocation) -> dpctl.memory.MemoryUSMDevice:
        """Return a new allocation as a dpctl memory object."""
        memory = self.bytes_at(allocation.offset, allocation.nbytes)
        self.freed.add(allocation, memory)
        return memory

    def peer_array(self, away: int, low: int, high: int, first: int, like: dpnp.ndarray) -> dpnp.ndarray:
        """Return a dpnp array in a peer's memory, with shape and strides of ``like``.

        Its memory is at the addresses ``low`` to ``high``, its first element at ``first``, each plus ``away`` bytes.
        """
        memory = UsmRange(low + away, max(high - low, like.itemsize), self.queue, self).memory()
        strides = arrays.usm_array(like).strides
        return _wrap(memory, like.shape, like.dtype, strides=strides, offset=(first - low) // like.itemsize)

    def array_on(self, memory: Any, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> dpnp.ndarray:
        """Return a dpnp array in C order that begins at ``address`` in the dpctl memory object ``memory``."""
        return _wrap(memory, shape, dtype, offset=(address - memory._pointer) // dtype.itemsize)

    def array_at(self, offset: int, shape: Sequence[int], dtype: str, strides: Sequence[int]) -> dpnp.ndarray:
        """Return a dpnp array ``offset`` bytes from the heap's base; the strides are in elements and not negative."""
        span = sum((n - 1) * step for n, step in zip(shape, strides)) + 1 if math.prod(shape) else 1
        memory = self.bytes_at(offset, span * np.dtype(dtype).itemsize)
        return _wrap(memory, tuple(shape), dtype, strides=tuple(strides))

    def own_offset(self, address: int) -> int | None:
        """Return the heap offset of an address in the host mapping of this PE's heap; None for other addresses."""
        offset = address - self._own.address
        return offset if 0 <= offset < self.size else None

    def bytes_at(self, offset: int, nbytes: int) -> dpctl.memory.MemoryUSMDevice:
        """Return a dpctl memory object of these bytes only: dpctl may copy a whole memory object to the host."""
        return UsmRange(self.base + offset, nbytes, self.queue, self.memory).memory()

    def device_bytes(self, data: bytes) -> dpctl.memory.MemoryUSMDevice:
        """Return new memory on this PE's device that contains a copy of ``data``."""
        memory = dpctl.memory.MemoryUSMDevice(len(data), alignment=8, queue=self.queue)
        memory.copy_from_host(data)
        return memory

    def host_view(self, pe: int, offset: int, nbytes: int) -> memoryview:
        """Return ``nbytes`` at ``offset`` of a PE's heap, mapped for the host; ``IshmemError`` for another node."""
        mapped = self._maps[pe]
        if mapped is None:
            raise IshmemError(f"PE {pe} is on another node, whose memory is not mapped here")
        return memoryview((ctypes.c_char * nbytes).from_address(mapped.address + offset)).cast("B")

    def window(self, pe: int, offset: int, nbytes: int) -> ctypes.Array[ctypes.c_char] | None:
        """Return ``nbytes`` at ``offset`` of a PE's heap as a buffer that keeps them mapped; None for another node."""
        mapped = self._maps[pe]
        return mapped.window(offset, nbytes) if mapped else None

    def close(self, unmap: bool = True) -> None:
        """Close the IPC handles and unmap all heaps, unless ``unmap`` is false; arrays keep this PE's memory alive."""
        _core.reset()
        self.freed.clear()
        if self._maps:
            self.private_memory.close()
        if not unmap:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
            return
        for mapping in self._mappings.values():
            mapping.close()
        for host_map in (*self._maps, *self.locks, self._own):
            if host_map:
                host_map.close()
        self._mappings.clear()
        self._maps.clear()


def _offer(pe: int, packed: bytes, fds: list[int]) -> HeapExport:
    """Return the export that a PE has sent in `SymmetricHeap.exchange_handles`."""
    with _naming_sender(pe):
        device, rest = PeerDevice.unpack(packed)
        return HeapExport(device, rest[: peer_proof.LINE], handles.Export.unpack(rest[peer_proof.LINE :]), fds)


@contextlib.contextmanager
def _naming_sender(pe: int) -> Iterator[None]:
    """Name the PE as the sender in an error that its heap cannot be mapped."""
    try:
        yield
    except LevelZeroError:  # a refusal of the driver
        raise
    except IshmemError as error:
        raise IshmemError(f"PE {pe} sent no heap that can be mapped: {error}") from error


def configure_layout(layout: Layout) -> None:
    """Pass the offsets of the internal parts of a heap to the core."""
    _core.configure_parts(
        sync=layout.host_sync(0), sync_bytes=layout.sync_bytes, barriers_begun=layout.barriers_begun, begun=layout.begun
    )
    masks = [sum(1 << TYPE_NUMBERS[name] for name in movable(routine.types)) for routine in COLLECTIVES.values()]
    _core.configure_collectives(
        offset=layout.host_ring(0), ring_bytes=layout.host_ring_bytes, slot_bytes=layout.host_slot_bytes, types=masks
    )


def distances(base: int, bases: Sequence[int]) -> bytes:
    """Return the table of byte distances from one heap to others: 64-bit differences of addresses, modulo 2**64."""
    return struct.pack(f"<{len(bases)}Q", *((other - base) % (1 << 64) for other in bases))


def places(near: Sequence[int], n_pes: int) -> bytes:
    """Return the table of places, a byte for each PE: 0 for PEs of other nodes, else 1 plus the index in ``near``.

    Raises:
        IshmemError: There are too many PEs on the node for a byte each.
    """
    if len(near) > MOST_NEAR:
        raise IshmemError(
            f"{len(near)} PEs on one node; a job on several nodes allows {MOST_NEAR} on each: start fewer PEs per node"
        )
    table = bytearray(n_pes)
    for place, pe in enumerate(near, 1):
        table[pe] = place
    return bytes(table)


def _check_fits(device: dpctl.SyclDevice, size: int) -> None:
    limit = min(device.max_mem_alloc_size, device.global_mem_size)
    if size > limit:
        raise IshmemError(
            f"a symmetric heap of {size} bytes does not fit {device.name}, which allows {limit} bytes "
            "in one allocation; lower ISHMEM_SYMMETRIC_SIZE or heap_size="
        )


def _allocate(size: int, user_size: int, queue: dpctl.SyclQueue) -> dpctl.memory.MemoryUSMDevice:
    try:
        return dpctl.memory.MemoryUSMDevice(size, alignment=4096, queue=queue)
    except Exception as error:
        raise IshmemError(
            f"the symmetric heap, {size} bytes ({user_size} and {size - user_size} of ishmem's own), cannot be "
            f"allocated on {queue.sycl_device.name}, which has {queue.sycl_device.global_mem_size} bytes for all "
            f"processes: {error}; lower ISHMEM_SYMMETRIC_SIZE or heap_size="
        ) from error


def _wrap(memory: Any, shape: Any, dtype: Any, **layout: Any) -> dpnp.ndarray:
    import dpnp

    numpy_protocol.install()
    return dpnp.asarray(arrays.tensor.usm_ndarray(shape, dtype=dtype, buffer=memory, **layout))


def _keep(queue: dpctl.SyclQueue) -> None:
    """Prevent the destruction of a queue, which aborts the process when the device is lost."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(queue))
