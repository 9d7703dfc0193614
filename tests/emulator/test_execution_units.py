"""Instructions of the emulated card's execution units, against numpy. They need libiga64.so.2 of Intel's compiler."""

from __future__ import annotations

from typing import Any

import execution_units
import numpy as np
import pytest
from execution_units import MEMORY, XE2, XE_HPC, Card, Refused, Thread

TYPES = {
    "ub": np.uint8, "b": np.int8, "uw": np.uint16, "w": np.int16, "ud": np.uint32, "d": np.int32, "uq": np.uint64,
    "q": np.int64, "hf": np.float16, "f": np.float32, "df": np.float64,
}  # fmt: skip
INTEGERS = ("ub", "b", "uw", "w", "ud", "d", "uq", "q")
WORDS = ("w", "uw", "d", "ud", "q", "uq")
FLOATS = ("hf", "f", "df")
CONDITIONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal
}  # fmt: skip


@pytest.fixture(scope="module")
def probe() -> Any:
    try:
        return execution_units.library()
    except OSError as error:
        pytest.skip(f"the execution units decode with libiga64.so.2 (Debian's libigc2): {error}")


@pytest.fixture(params=[XE2, XE_HPC], ids=["xe2", "xe_hpc"])
def thread(probe: Any, request: Any) -> Thread:
    return Thread(probe, request.param)


def samples(name: str, count: int = 16, seed: int = 0) -> Any:
    """Return numbers of a type: small ones, its limits, and any."""
    rng, dtype = np.random.default_rng(seed), np.dtype(TYPES[name])
    if dtype.kind == "f":
        special = np.array([0.0, -0.0, 1, -1.5, 2.5, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny, 60000])
        return np.where(rng.random(count) < 0.5, rng.choice(special, count), rng.normal(size=count) * 50).astype(dtype)
    limits = np.iinfo(dtype)
    special = np.array([0, 1, limits.min, limits.max, limits.max - 1, 7], dtype)
    anything = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
    return np.where(rng.random(count) < 0.5, rng.choice(special, count), anything)


def exact(values: Any) -> Any:
    """Return integers without a limit."""
    return values.astype(object)


def wrapped(values: Any, dtype: Any) -> Any:
    """Return exact integers as those of a type, modulo its range."""
    bits = 8 * np.dtype(dtype).itemsize
    return np.array([int(value) % (1 << bits) for value in values], f"u{bits // 8}").view(dtype)


def saturated(values: Any, dtype: Any) -> Any:
    """Return exact integers as those of a type, or the nearest that it has."""
    limits = np.iinfo(dtype)
    return np.array([min(max(int(value), limits.min), limits.max) for value in values], dtype)


def same_bits(got: Any, wanted: Any) -> bool:
    """Return whether two arrays of floats are equal, NaN and signs of zeros included."""
    both_nan = np.isnan(got) & np.isnan(wanted)
    return bool(np.all((got == wanted) & (np.signbit(got) == np.signbit(wanted)) | both_nan))


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("saturate", [False, True])
def test_add(thread: Thread, name: str, saturate: bool) -> None:
    a, b = samples(name, seed=1), samples(name, seed=2)
    thread.set(10, a), thread.set(20, b)
    has_flag = not saturate and "q" not in name
    modifier = "(sat)" if saturate else "(ov)f1.0 " if has_flag else ""
    thread.run(f"add (16|M0) {modifier}r30.0<1>:{name} r10.0<1;1,0>:{name} r20.0<1;1,0>:{name}")
    wanted, nearest = (each(exact(a) + exact(b), TYPES[name]) for each in (wrapped, saturated))
    np.testing.assert_array_equal(thread.get(30, TYPES[name], 16), nearest if saturate else wanted)
    exceeds = wanted != nearest
    assert exceeds.any()
    assert thread.flags[1] == (sum(1 << k for k in range(16) if exceeds[k]) if has_flag else 0)


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("saturate", [False, True])
def test_move_integers(thread: Thread, source: str, to: str, saturate: bool) -> None:
    """Into registers with gaps, since not all types may be next to each other."""
    values, size = samples(source, 8), np.dtype(TYPES[to]).itemsize
    step = max(1, np.dtype(TYPES[source]).itemsize // size)
    thread.set(10, values)
    thread.run(f"mov (8|M0) {'(sat)' if saturate else ''}r20.0<{min(step, 4)}>:{to} r10.0<1;1,0>:{source}")
    wanted = (saturated if saturate else wrapped)(exact(values), TYPES[to])
    np.testing.assert_array_equal(thread.get(20, TYPES[to], 8 * min(step, 4))[:: min(step, 4)], wanted)


@pytest.mark.parametrize("name", [*WORDS, *FLOATS])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_compare(thread: Thread, name: str, condition: str) -> None:
    a, b = samples(name, seed=3), samples(name, seed=4)
    thread.set(10, a), thread.set(20, b)
    dest = "null" if name in FLOATS else "r30.0"
    thread.run(f"cmp (16|M0) ({condition})f1.0 {dest}<1>:{name} r10.0<1;1,0>:{name} r20.0<1;1,0>:{name}")
    holds = CONDITIONS[condition](a, b)
    assert thread.flags[1] == sum(1 << k for k in range(16) if holds[k])
    if name not in FLOATS:
        wanted = np.where(holds, wrapped([-1], TYPES[name])[0], 0)
        np.testing.assert_array_equal(thread.get(30, TYPES[name], 16), wanted)


def test_high_and_low_products(thread: Thread) -> None:
    """The two halves of a product, which an accumulator carries from mul to mach and macl."""
    for name in ("d", "ud"):
        a, b = samples(name, seed=5), samples(name, seed=6)
        thread.set(10, a), thread.set(20, b)
        first = f"mul (16|M0) acc0.0<1>:{name} r10.0<1;1,0>:{name} r20.0<2;1,0>:uw\n"
        thread.run(
            f"{first}mach (16|M0) r30.0<1>:{name} r10.0<1;1,0>:{name} r20.0<1;1,0>:{name}\n"
            f"{first}macl (16|M0) r40.0<1>:{name} r10.0<1;1,0>:{name} r20.0<1;1,0>:{name}"
        )
        product = exact(a) * exact(b)
        np.testing.assert_array_equal(thread.get(30, TYPES[name], 16), wrapped(product >> 32, TYPES[name]))
        np.testing.assert_array_equal(thread.get(40, TYPES[name], 16), wrapped(product, TYPES[name]))


@pytest.mark.parametrize("name", WORDS)
def test_shifts(thread: Thread, name: str) -> None:
    values, counts = samples(name, seed=7), np.arange(16, dtype=np.uint16) * 5
    bits = 8 * np.dtype(TYPES[name]).itemsize
    mask, size = (63 if bits == 64 else 31), TYPES[name]
    thread.set(10, values), thread.set(20, counts)
    for op in ("shl", "shr", "asr"):
        thread.run(f"{op} (16|M0) r30.0<1>:{name} r10.0<1;1,0>:{name} r20.0<1;1,0>:uw")
        unsigned = exact(values.view(f"u{bits // 8}"))
        source = {"shl": unsigned, "shr": unsigned, "asr": exact(values)}[op]
        shift = [int(c) & mask for c in counts]
        wanted = [int(v) << s if op == "shl" else int(v) >> s for v, s in zip(source, shift)]
        np.testing.assert_array_equal(thread.get(30, size, 16), wrapped(wanted, size), err_msg=op)


@pytest.mark.parametrize("table", [0x00, 0x96, 0xE8, 0xCA, 0x1E, 0xFE])
def test_boolean_function(thread: Thread, table: int) -> None:
    a, b, c = (samples("ud", seed=seed) for seed in (8, 9, 10))
    thread.set(10, a), thread.set(20, b), thread.set(30, c)
    thread.run(f"bfn.0x{table:02X} (16|M0) r40.0<1>:ud r10.0<1;0>:ud r20.0<1;0>:ud r30.0<1>:ud")
    wanted = np.zeros(16, np.uint32)
    for case in range(8):
        chosen = np.full(16, 0xFFFFFFFF if table >> case & 1 else 0, np.uint32)
        for bit, value in enumerate((a, b, c)):
            chosen &= value if case >> bit & 1 else ~value
        wanted |= chosen
    np.testing.assert_array_equal(thread.get(40, np.uint32, 16), wanted)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("op", ["add", "mul"])
@np.errstate(all="ignore")
def test_float_arithmetic(thread: Thread, name: str, op: str) -> None:
    a, b = samples(name, seed=11), samples(name, seed=12)
    thread.set(10, a), thread.set(20, b)
    thread.run(f"{op} (16|M0) r30.0<1>:{name} r10.0<1;1,0>:{name} -r20.0<1;1,0>:{name}")
    assert same_bits(thread.get(30, TYPES[name], 16), a + -b if op == "add" else a * -b)


@pytest.mark.parametrize("mode", range(4))
def test_rounding_modes(thread: Thread, mode: int) -> None:
    """1/3 of the card: to nearest, up, down, towards zero; written to the control register by the kernel."""
    thread.set(10, np.array([1, -1, 2, -2], np.int32)), thread.set(11, np.full(4, 2.0**-30, np.float32))
    thread.run(
        f"or (1|M0) cr0.0<1>:ud cr0.0<0;1,0>:ud 0x{mode << 4:X}:ud\n"
        "mov (4|M0) r12.0<1>:f r10.0<1;1,0>:d\n"
        "add (4|M0) r13.0<1>:f r12.0<1;1,0>:f r11.0<1;1,0>:f"
    )
    base = np.array([1, -1, 2, -2], np.float32)
    up = np.nextafter(base, np.float32(np.inf))
    towards_zero = np.where(base < 0, up, base)
    np.testing.assert_array_equal(thread.get(13, np.float32, 4), [base, up, base, towards_zero][mode])


@pytest.mark.parametrize("name", ["f", "df"])
@np.errstate(all="ignore")
def test_division_and_root(thread: Thread, name: str) -> None:
    """The first instruction of a division, and of a square root: lanes that are done set a flag."""
    dtype = TYPES[name]
    lanes, limits = (16 if name == "f" else 8), np.finfo(dtype)
    a = np.array([1, 1, 0, limits.max, limits.tiny, np.inf, 7, 10] * 2, dtype)[:lanes]
    b = np.array([3, 0, 0, limits.max, limits.max, 3, -9, 7] * 2, dtype)[:lanes]
    thread.set(10, a), thread.set(20, b)
    thread.run(
        f"math.invm ({lanes}|M0) (eo)f0.0 r30.mme0:{name} r10.nomme<1;1,0>:{name} r20.nomme<1;1,0>:{name}\n"
        f"math.rsqtm ({lanes}|M0) (eo)f1.0 r40.mme0:{name} r10.nomme<1;1,0>:{name}"
    )
    assert same_bits(thread.get(30, dtype, lanes), a / b)
    assert same_bits(thread.get(40, dtype, lanes), np.sqrt(a))
    assert thread.flags[0] == thread.flags[1] == (1 << lanes) - 1


def test_multiply_add_keeps_exponents(thread: Thread) -> None:
    """A product that a float64 cannot hold, in a register of a math macro."""
    big = np.full(8, 1e300)
    thread.set(10, big), thread.set(20, np.zeros(8)), thread.set(50, np.full(8, 1e-300))
    operands = "r20.nomme:df r10.nomme:df r10.nomme:df"
    thread.run(
        f"madm (8|M0) r30.mme1:df {operands}\nmadm (8|M0) r40.mme2:df r20.nomme:df r30.mme1:df r50.nomme:df\n"
        "madm (8|M0) r60.nomme:df r20.nomme:df r40.mme2:df r50.nomme:df"
    )
    np.testing.assert_allclose(thread.get(60, np.float64, 8), 1.0, rtol=1e-15)


def test_masks_and_predicates(thread: Thread) -> None:
    thread.set(10, np.arange(32, dtype=np.int32))
    thread.flags[2] = 0x0F0F0F0F
    thread.run(
        "(f2.0) mov (32|M0) r20.0<1>:d r10.0<1;1,0>:d\n(~f2.0) mov (16|M16) r30.0<1>:d r10.0<1;1,0>:d\n"
        "(W) mov (16|M0) r40.0<1>:d 5:w\n(f2.0) sel (32|M0) r50.0<1>:d r10.0<1;1,0>:d -1:w",
        active=0x00FFFFFF,
    )
    lanes = np.arange(32)
    chosen, active = (0x0F0F0F0F >> lanes & 1).astype(bool), lanes < 24
    np.testing.assert_array_equal(thread.get(20, np.int32, 32), np.where(chosen & active, lanes, 0))
    np.testing.assert_array_equal(thread.get(30, np.int32, 16), np.where(~chosen[16:] & active[16:], np.arange(16), 0))
    np.testing.assert_array_equal(thread.get(40, np.int32, 16), 5)
    np.testing.assert_array_equal(thread.get(50, np.int32, 32), np.where(active, np.where(chosen, lanes, -1), 0))


def test_regions_and_addresses(thread: Thread) -> None:
    """A region of rows, a stride, and lanes whose register is in an address register."""
    thread.set(10, np.arange(64, dtype=np.int32))
    thread.run(
        "mov (16|M0) r20.0<2>:d r10.0<8;4,2>:d\n"
        "mov (16|M0) a0.0<1>:uw 0x76543210:uv\n"
        "shl (16|M0) a0.0<1>:uw a0.0<1;1,0>:uw 3:w\n"
        "add (16|M0) a0.0<1>:uw a0.0<1;1,0>:uw 0x280:uw\n"
        "mov (16|M0) r30.0<1>:d r[a0.0]<1,0>:d"
    )
    rows = [8 * (k // 4) + 2 * (k % 4) for k in range(16)]
    np.testing.assert_array_equal(thread.get(20, np.int32, 32)[::2], rows)
    np.testing.assert_array_equal(thread.get(30, np.int32, 16), [2 * (k % 8) for k in range(16)])


def test_branches(thread: Thread) -> None:
    """A loop that lanes leave one after the other."""
    thread.set(10, np.arange(16, dtype=np.int32))
    thread.run(
        "mov (16|M0) r20.0<1>:d 0:w\nLoop:\nadd (16|M0) r20.0<1>:d r20.0<1;1,0>:d 2:w\n"
        "cmp (16|M0) (lt)f0.0 null<1>:d r20.0<1;1,0>:d r10.0<1;1,0>:d\n(f0.0) goto.b (16|M0) Out Loop\n"
        "Out:\njoin (16|M0) End\nEnd:\nadd (16|M0) r20.0<1>:d r20.0<1;1,0>:d 100:w",
        active=0xFFFF,
    )
    np.testing.assert_array_equal(thread.get(20, np.int32, 16), [100 + max(2, (k + 1) // 2 * 2) for k in range(16)])


LOAD_64 = "send.ugm (16|M0) r30 r10 null:0 0x0 0x04200780"  # 16 addresses of 64 bits, 2 registers of data
STORE_32 = "send.ugm (16|M0) null r10 r20:1 0x0 0x04000584"


def test_memory(thread: Thread) -> None:
    addresses = MEMORY + np.arange(16, dtype=np.uint64) * 24
    thread.set(10, addresses)
    thread.memory.view(np.uint64)[:] = np.arange(thread.memory.size // 8)
    thread.run(LOAD_64, active=0x0FFF)
    np.testing.assert_array_equal(thread.get(30, np.uint64, 16), np.where(np.arange(16) < 12, 3 * np.arange(16), 0))
    thread.set(20, np.arange(16, dtype=np.int32) - 5)
    thread.run(STORE_32, active=0xFFFF)
    np.testing.assert_array_equal(thread.memory.view(np.int32)[::6][:16], np.arange(16) - 5)


def test_a_store_ends_the_thread(thread: Thread) -> None:
    thread.set(10, MEMORY + np.arange(16, dtype=np.uint64) * 4)
    thread.set(20, np.arange(16, dtype=np.int32) + 1)
    thread.run(f"{STORE_32} {{EOT}}\n(W) mov (16|M0) r30.0<1>:d 7:w", active=0xFFFF)
    np.testing.assert_array_equal(thread.memory.view(np.int32)[:17], [*range(1, 17), 0])
    assert not thread.get(30, np.int32, 16).any()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LOAD_64, "load of 8 bytes at GPU address 0xdead0000"),
        ("send.ugm (1|M0) r30 r10 null:0 0x0 0x0210059B", "not known"),
        ("sync.host null", "not known"),
        ("(W) dpas.8x2 (16|M0) r10:d r10:d r20:u4 r30.0:s4", "not known"),
    ],
)
def test_refused(thread: Thread, text: str, words: str) -> None:
    thread.set(10, np.full(16, 0xDEAD0000, np.uint64))
    with pytest.raises(Refused, match=words):
        thread.run(text)


def test_jump_by_register(thread: Thread) -> None:
    """Over one instruction of 16 bytes."""
    thread.set(10, np.array([32], np.int32))
    thread.run("jmpi r10.0\n(W) mov (1|M0) r20.0<1>:d 1:w\n(W) mov (1|M0) r21.0<1>:d 2:w")
    assert (thread.get(20, np.int32, 1)[0], thread.get(21, np.int32, 1)[0]) == (0, 2)


def test_local_memory(thread: Thread) -> None:
    """Addresses as the compiler makes them: bit 28 is set, so that none is null."""
    thread.set(10, np.uint32(0x10000000) + np.arange(16, dtype=np.uint32) * 4)
    thread.set(20, np.arange(16, dtype=np.int32) * 3)
    store, load = "send.slm (16|M0) null r10 r20:1 0x0 0x02000504", "send.slm (16|M0) r30 r10 null:0 0x0 0x02100500"
    thread.run(f"{store}\n{load}", active=0xFFFF)
    np.testing.assert_array_equal(thread.get(30, np.int32, 16), np.arange(16) * 3)
    thread.set(10, np.full(16, 0x10001000, np.uint32))
    with pytest.raises(Refused, match="SLM address 0x10001000"):
        thread.run(load, active=0xFFFF)


def block(thread: Thread, message: str, *place: int) -> None:
    """Load a block of a surface of numbers from 0 on; ``place`` is its width, height, pitch, x, y and the extents."""
    thread.memory.view(np.int32)[: 4 * 16] = np.arange(64)
    thread.set(10, np.array([MEMORY & 0xFFFFFFFF, MEMORY >> 32, *place], np.uint32))
    thread.run(f"(W) send.ugm (1|M0) r30 r10 null:0 {message}")


def test_transposed_block(thread: Thread) -> None:
    """4 rows of 8 words, of which the last two columns are outside of the surface."""
    block(thread, "0x0 0x02288403", 6 * 4 - 1, 3, 16 * 4 - 1, 0, 0, 3 << 8 | 7)
    wanted = np.arange(64).reshape(4, 16)[:, :8] * (np.arange(8) < 6)
    np.testing.assert_array_equal(thread.get(30, np.int32, 32).reshape(8, 4), wanted.T)


def test_block_with_an_offset(probe: Any) -> None:
    """The instruction adds 2 columns and a row to where the block is."""
    thread = Thread(probe, XE2)
    block(thread, "0x402000 0x02100403", 16 * 4 - 1, 3, 16 * 4 - 1, 1, 0, 1 << 8 | 7)
    wanted = np.arange(64).reshape(4, 16)[1:3, 3:11]
    np.testing.assert_array_equal(thread.get(30, np.int32, 16).reshape(2, 8), wanted)


# The group's number becomes an address, and then what is stored there.
GROUP_ADDRESS = f"""
(W) shl (1|M0) r10.0<1>:ud r0.1<0;1,0>:ud 2:w
(W) add (1|M0) r10.0<1>:ud r10.0<0;1,0>:ud 0x{MEMORY:X}:ud
(W) mov (1|M0) r11.0<1>:uq r10.0<0;1,0>:ud
"""
STORE_ONE = "(W) send.ugm (1|M0) null r11 r12:1 0x0 0x04000584\n"
# Group 0 waits for the word of group 1, which the others write.
WAIT_FOR_ANOTHER = f"""{GROUP_ADDRESS}
(W) mov (1|M0) r12.0<1>:ud 1:ud
(W) cmp (1|M0) (ne)f0.0 null<1>:ud r0.1<0;1,0>:ud 0:ud
(W&f0.0) jmpi Write
(W) mov (1|M0) r11.0<1>:uq 0x{MEMORY + 4:X}:uq
Again:
(W) send.ugm (1|M0) r20 r11 null:0 0x0 0x0210058A
(W) cmp (1|M0) (eq)f0.0 null<1>:ud r20.0<0;1,0>:ud 0:ud
(W&f0.0) jmpi Again
(W) mov (1|M0) r11.0<1>:uq 0x{MEMORY:X}:uq
Write:
{STORE_ONE}"""


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_group_runs_and_may_wait_for_another(probe: Any, seed: int) -> None:
    memory = np.zeros(100, np.uint32)
    text = f"{GROUP_ADDRESS}(W) add (1|M0) r12.0<1>:ud r0.1<0;1,0>:ud 1:w\n{STORE_ONE}"
    Card(probe, 8, seed).run(text, memory, groups=100)
    np.testing.assert_array_equal(memory, np.arange(1, 101))
    memory[:] = 0
    Card(probe, 2, seed).run(WAIT_FOR_ANOTHER, memory, groups=2)
    np.testing.assert_array_equal(memory[:2], 1)


def test_a_group_without_a_hardware_thread_does_not_run(probe: Any) -> None:
    """On one thread, the first group waits for ever for the second, until the queue is stopped."""
    memory = np.zeros(4, np.uint32)
    with pytest.raises(Refused, match="stopped"):
        Card(probe, 1).run(WAIT_FOR_ANOTHER, memory, groups=2, patience=300)
    assert not memory.any()


# Thread 1 of 2 ends before the barrier.
BARRIER_OF_ONE = """
(W) and (1|M0) r10.0<1>:ud r0.2<0;1,0>:ud 0xFF:uw
(W) cmp (1|M0) (ne)f0.0 null<1>:ud r10.0<0;1,0>:ud 0:uw
(W&f0.0) jmpi End
(W) mov (1|M0) r20.2<1>:ud 0:uw
(W) mov (2|M0) r20.10<1>:ub r0.11<0;1,0>:ub
(W) send.gtwy (1|M0) null r20 null:0 0x0 0x02000004
(W) sync.bar null
End:
(W) mov (1|M0) r21.0<1>:ud 0:uw"""
WRONG_ADDRESS = "(W) mov (1|M0) r11.0<1>:uq 0xDEAD0000:uq\n" + STORE_ONE


@pytest.mark.parametrize(
    ("text", "threads", "words"),
    [
        (BARRIER_OF_ONE, 2, "barrier that others of their group have not reached"),
        ("nop", 9, r"9 threads .* does not fit into an Xe core of 8 threads"),
        (WRONG_ADDRESS, 1, r"kernel 0x100000000, .*send.ugm.*0xdead0000, group \(0, 0, 0\), thread 0 of 1"),
    ],
    ids=["barrier", "size", "address"],
)
def test_a_group_that_fails(probe: Any, text: str, threads: int, words: str) -> None:
    with pytest.raises(Refused, match=words):
        Card(probe, 8).run(text, np.zeros(4, np.uint32), threads=threads)


def test_structured_branches(thread: Thread) -> None:
    """A loop with an if and an else; some lanes leave it in the middle, and some go on with its next pass."""
    thread.set(10, np.arange(16, dtype=np.int32))
    loop = """
mov (16|M0) r20.0<1>:d 0:w
mov (16|M0) r21.0<1>:d 0:w
Loop:
add (16|M0) r20.0<1>:d r20.0<1;1,0>:d 1:w
cmp (16|M0) (lt)f0.0 null<1>:d r20.0<1;1,0>:d r10.0<1;1,0>:d
(f0.0) if (16|M0) Else EndIf
add (16|M0) r21.0<1>:d r21.0<1;1,0>:d 1:w
cmp (16|M0) (lt)f1.0 null<1>:d r10.0<1;1,0>:d 4:w
(f1.0) cont (16|M0) Else While
add (16|M0) r21.0<1>:d r21.0<1;1,0>:d 10:w
else (16|M0) EndIf EndIf
Else:
add (16|M0) r21.0<1>:d r21.0<1;1,0>:d 100:w
cmp (16|M0) (ge)f1.0 null<1>:d r20.0<1;1,0>:d 6:w
(f1.0) break (16|M0) EndIf While
add (16|M0) r21.0<1>:d r21.0<1;1,0>:d 1000:w
EndIf:
endif (16|M0) While
cmp (16|M0) (lt)f0.0 null<1>:d r20.0<1;1,0>:d 12:w
While:
(f0.0) while (16|M0) Loop
add (16|M0) r22.0<1>:d r21.0<1;1,0>:d 0:w"""
    thread.run(loop, active=0x7FFF)
    np.testing.assert_array_equal(thread.get(22, np.int32, 16), [*map(_passes, range(15)), 0])


def test_a_branch_without_the_mask(thread: Thread) -> None:
    """It decides about all channels of its flag, also those that the launch has left out, as oneMKL needs it."""
    branch = """
mov (32|M0) r20.0<1>:d 0:w
(W) mov (1|M0) r5.0<1>:ud 0xFFFFF:ud
(W) mov (1|M0) f1.0<1>:ud r5.0<0;1,0>:ud
(W&f1.0) if (32|M0) EndIf EndIf
mov (32|M0) r20.0<1>:d 7:w
EndIf:
(W) endif (32|M0) End
End:
add (32|M0) r22.0<1>:d r20.0<1;1,0>:d 1:w"""
    thread.run(branch, active=0xFFFF)
    np.testing.assert_array_equal(thread.get(20, np.int32, 32), [7] * 20 + [0] * 12)
    np.testing.assert_array_equal(thread.get(22, np.int32, 32), [8] * 16 + [0] * 16)


def _passes(lane: int) -> int:
    """Return what a lane of the loop above has counted."""
    count = total = 0
    while True:
        count += 1
        if count < lane:
            total += 1
            if lane < 4:
                continue
            total += 10
        else:
            total += 100
            if count >= 6:
                return total
            total += 1000
        if count >= 12:
            return total


@pytest.mark.parametrize(("keep", "wanted"), [(0x4C0, (True, True)), (0x440, (False, True)), (0x480, (True, False))])
def test_denormals(thread: Thread, keep: int, wanted: tuple[bool, bool]) -> None:
    """Those of floats and of doubles, as the control register says; what only moves keeps them."""
    thread.control[0] = keep
    thread.set(10, np.full(8, 1e-40, np.float32)), thread.set(11, np.full(8, 1e-310))
    thread.run(
        "add (8|M0) r20.0<1>:f r10.0<1;1,0>:f r10.0<1;1,0>:f\nadd (8|M0) r21.0<1>:df r11.0<1;1,0>:df r11.0<1;1,0>:df\n"
        "mov (8|M0) r22.0<1>:f r10.0<1;1,0>:f"
    )
    assert ((thread.get(20, np.float32, 8) > 0).all(), (thread.get(21, np.float64, 8) > 0).all()) == wanted
    assert (thread.get(22, np.uint32, 8) > 0).all()
    assert np.float32(1e-40) * np.float32(1) > 0  # not of this process


def test_denormals_of_halves(thread: Thread) -> None:
    thread.control[0] = 0xC0
    with pytest.raises(Refused, match="denormals of halves are to be flushed, which is not known"):
        thread.run("add (8|M0) r20.0<1>:hf r10.0<1;1,0>:hf r10.0<1;1,0>:hf")


def tensor_floats(values: Any) -> Any:
    return (np.asarray(values, np.float32).view(np.uint32) & ~np.uint32(0x1FFF)).view(np.float32)


def brain_floats(values: Any) -> Any:
    """Return floats as the upper halves of their bits."""
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("rows", [1, 3, 8])
@pytest.mark.parametrize("name", ["hf", "bf", "tf32"])
@pytest.mark.parametrize("starts", [True, False])
def test_products_of_matrices(thread: Thread, rows: int, name: str, starts: bool) -> None:
    """8 steps, each of as many elements as there are in 32 bits; added to what was there, or to nothing."""
    rng, each = np.random.default_rng(rows), 1 if name == "tf32" else 2
    of_rows, columns = rng.integers(-9, 9, (rows, 8 * each)) / 4, rng.integers(-9, 9, (8 * each, 16)) / 8
    as_lanes = columns.reshape(8, each, 16).transpose(0, 2, 1)
    stored = {"hf": np.float16, "bf": brain_floats, "tf32": np.float32}[name]
    before = rng.integers(-9, 9, (rows, 16)).astype(np.float32)
    thread.set(10, before.ravel()), thread.set(20, stored(as_lanes).ravel()), thread.set(30, stored(of_rows).ravel())
    thread.run(f"(W) dpas.8x{rows} (16|M0) r10:f {'r10' if starts else 'null'}:f r20:{name} r30.0:{name}")
    wanted = (before if starts else 0) + tensor_floats(of_rows) @ tensor_floats(columns)
    np.testing.assert_array_equal(thread.get(10, np.float32, 16 * rows).reshape(rows, 16), wanted)


@pytest.mark.parametrize(("a", "b"), [("ub", "b"), ("b", "ub"), ("b", "b"), ("ub", "ub")])
def test_products_of_matrices_of_bytes(thread: Thread, a: str, b: str) -> None:
    columns, of_rows = samples(a, 32 * 16, seed=1).reshape(8, 16, 4), samples(b, 2 * 32, seed=2).reshape(2, 32)
    thread.set(20, columns.ravel()), thread.set(30, of_rows.ravel())
    thread.run(f"(W) dpas.8x2 (16|M0) r10:d null:d r20:{a} r30.0:{b}")
    wanted = of_rows.astype(np.int32) @ columns.transpose(0, 2, 1).reshape(32, 16).astype(np.int32)
    np.testing.assert_array_equal(thread.get(10, np.int32, 32).reshape(2, 16), wanted)


COMBINE = {0x0C: np.add, 0x13: np.add, 0x14: np.subtract, 0x15: np.minimum, 0x16: np.maximum}
"""What atomics of 16 lanes on one word do: the first of integers, the others of floats."""
ATOMICS = [("d", 2, 1, 0x0C), *((*each, opcode) for each in (("hf", 5, 1), ("f", 2, 1), ("df", 3, 2))
                                for opcode in list(COMBINE)[1:])]  # fmt: skip


@pytest.mark.parametrize(("name", "size", "registers", "opcode"), ATOMICS)
def test_atomics(thread: Thread, name: str, size: int, registers: int, opcode: int) -> None:
    """Lanes update one word, in their order, and get what was there before."""
    dtype = np.dtype(TYPES[name])
    values = np.array([3, -2, 0.5, 7, -11, 2, 1, 9] * 2, dtype)
    lanes = np.zeros((16, max(4, dtype.itemsize) // dtype.itemsize), dtype)
    lanes[:, 0] = values
    thread.set(10, np.full(16, MEMORY, np.uint64)), thread.set(20, lanes.ravel())
    descriptor = 0x04000180 | registers << 20 | size << 9 | opcode
    thread.run(f"send.ugm (16|M0) r30 r10 r20:{registers} 0x0 0x{descriptor:08X}", active=0xFFFF)
    steps = [dtype.type(0)]
    for value in values:
        steps.append(COMBINE[opcode](steps[-1], value))
    assert thread.memory.view(dtype)[0] == steps[-1]
    np.testing.assert_array_equal(thread.get(30, dtype, lanes.size).reshape(lanes.shape)[:, 0], steps[:-1])
