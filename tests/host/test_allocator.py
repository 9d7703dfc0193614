"""The offset allocator, against a simple model."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st

from ishmem.runtime.allocator import ALIGNMENT, Allocator

START, END = 4096 + 64, 4096 + 64 + (1 << 16)

# Allocate (bytes, alignment), or free the live allocation with this number, counted round.
operations = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 9000), st.sampled_from([2**k for k in range(15)])),
        st.integers(0, 1000),
    ),
    max_size=60,
)


def fits(live: list[tuple[int, int]], size: int, alignment: int) -> int | None:
    """Return the first offset at which a block fits between the live ones, by trying every offset."""
    for offset in range(START, END - size + 1, ALIGNMENT):
        if offset % alignment == 0 and all(offset + size <= first or offset >= last for first, last in live):
            return offset
    return None


def apply(allocator: Allocator, operation: Any, live: list[tuple[int, int]]) -> None:
    if isinstance(operation, int):
        if live:
            first, _ = live.pop(operation % len(live))
            allocator.release(first)
        return
    nbytes, alignment = operation
    size = -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
    wanted = fits(live, size, max(alignment, ALIGNMENT))
    got = allocator.allocate(nbytes, alignment, "array", "file:1")
    assert (got is None) == (wanted is None)
    if got:
        assert allocator.quarantine or got.offset == wanted
        assert all(got.offset + size <= first or got.offset >= last for first, last in live)
        assert (got.nbytes, got.reserved, got.what, got.where) == (nbytes, size, "array", "file:1")
        live.append((got.offset, got.offset + size))


def check(allocator: Allocator, live: list[tuple[int, int]]) -> None:
    assert sorted(allocator.live) == sorted(first for first, _ in live)
    used = sum(last - first for first, last in live)
    assert (allocator.used_bytes, allocator.free_bytes) == (used, END - START - used)
    edges = [START, *(edge for piece in sorted(live) for edge in piece), END]
    assert allocator.largest == max(b - a for a, b in zip(edges[::2], edges[1::2]))


@settings(max_examples=200, deadline=None)
@given(operations)
def test_against_model(operations: list[Any]) -> None:
    """First fit: never overlapping, always aligned, refused only when it cannot fit, and joined again when freed."""
    allocator, live = Allocator(START, END), []  # type: ignore[var-annotated]
    for operation in operations:
        apply(allocator, operation, live)
        check(allocator, live)
    for first, _ in live:
        allocator.release(first)
    check(allocator, [])
    whole = allocator.allocate(END - START, 1)
    assert whole is not None
    assert whole.offset == START


def test_none() -> None:
    allocator = Allocator(64, 64)
    assert (allocator.size, allocator.free_bytes, allocator.largest) == (0, 0, 0)
    assert allocator.allocate(0, 64) is None


def test_freed_ranges_wait() -> None:
    """The newest freed ranges, up to so many bytes, are not used again until an allocation needs them."""
    allocator = Allocator(0, 1024)
    allocator.quarantine = 512
    first, second = (allocator.allocate(256, 1) for _ in range(2))
    assert first and second
    allocator.release(first.offset)
    third = allocator.allocate(256, 1)
    assert third and third.offset == 512
    allocator.release(second.offset)  # both wait
    assert (allocator.free_bytes, allocator.largest) == (768, 256)
    fourth = allocator.allocate(256, 1)
    assert fourth and fourth.offset == 768
    allocator.release(third.offset)  # the first one waits no more
    again = allocator.allocate(64, 1)
    assert again and again.offset == 0
    large = allocator.allocate(512, 1)  # the others neither, as it needs them
    assert large and large.offset == 64
    assert allocator.allocate(256, 1) is None


@settings(deadline=None)
@given(operations, st.integers(0, END - START))
def test_waiting_ranges_are_given_back(operations: list[Any], quarantine: int) -> None:
    """No two allocations overlap, and what fits without a quarantine fits with one."""
    allocator, live = Allocator(START, END), []  # type: ignore[var-annotated]
    allocator.quarantine = quarantine
    for operation in operations:
        apply(allocator, operation, live)
        assert allocator.used_bytes == sum(end - start for start, end in live)
