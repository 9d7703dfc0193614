"""Ordinary Python that kernels are made of; each is compiled for the device and run as plain Python, and must agree.

A kernel gets an item, 16 numbers to write, 16 to read, and one number more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

import numpy as np
from common import one_line

KERNELS: list[tuple[Callable[..., None], Any]] = []


def ordinary(*numbers: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def enter(kernel: Callable[..., None]) -> Callable[..., None]:
        KERNELS.extend((kernel, number) for number in numbers)
        return kernel

    return enter


def inputs() -> Iterable[int]:
    return ((7 * i * i - 40 * i + 11) % 97 - 30 for i in range(16))


@ordinary(9, np.int32(9), np.uint64(9))
def chain_on_a_remainder(item, out, given, n):
    i = item.get_id(0)
    for r in range(1, n + 1):
        if r % 3 == 0:
            out[i] += given[i]
        elif r % 3 == 1:
            out[i] -= 2 * r
        else:
            out[i] += 5


@ordinary(3)
def tuple_by_a_loop_variable(item, out, given, n):
    i = item.get_id(0)
    weights = (3, 5, 7)
    for r in range(n):
        out[i] += weights[r] * given[(i + r) % 16]


@ordinary(4)
def tuple_of_floats_by_a_loop_variable(item, out, given, n):
    i = item.get_id(0)
    halves = (0.5, 1.5, 2.5, 4.0)
    total = 0.0
    for r in range(n):
        total += halves[r] * given[i]
    out[i] = int(total)


@ordinary(3)
def bits(item, out, given, n):
    i = item.get_id(0)
    for r in range(16):
        kind = (given[r] + i) & n
        if kind == 0:
            out[i] += 1
        elif kind == 1:
            out[i] += 10
        elif kind == 2:
            out[i] += 100
        else:
            out[i] += 1000


@ordinary(50)
def states_in_a_while_loop(item, out, given, n):
    i = item.get_id(0)
    state, steps = 0, 0
    while steps < n:
        steps += 1
        if state == 0:
            state = 1 if given[i] > 0 else 2
        elif state == 1:
            out[i] += 1
            state = 3
        elif state == 2:
            out[i] -= 1
            state = 3
        elif state == 3:
            if steps > 20 + i:
                break
            state = 4
        else:
            state = 0
            continue
        out[i] += 2


@ordinary(5)
def early_returns(item, out, given, n):
    i = item.get_id(0)
    if given[i] < 0:
        out[i] = -1
        return
    for r in range(n):
        if given[r] == given[i]:
            out[i] = r
            return
    out[i] = 99


@ordinary(4)
def nested_chains(item, out, given, n):
    i = item.get_id(0)
    for r in range(n):
        if i % 4 == 0:
            if r % 2 == 0:
                out[i] += 1
            elif r % 3 == 0:
                out[i] += 20
            else:
                out[i] += 300
        elif i % 4 == 1:
            if r == 1:
                out[i] += given[r]
            elif r == 2:
                out[i] += 2 * given[r]
            elif r == 3:
                continue
        elif i % 4 == 2:
            out[i] -= r
        else:
            break


@ordinary(3)
def tuple_of_tuples(item, out, given, n):
    i = item.get_id(0)
    offsets = ((-1, 0), (1, 0), (0, 1), (0, -1))
    for dx, dy in offsets:
        x, y = i % 4 + dx, i // 4 + dy
        if 0 <= x < 4 and 0 <= y < 4:
            out[i] += given[4 * y + x] * n


@ordinary(11)
def minimum_and_place(item, out, given, n):
    i = item.get_id(0)
    best, place = given[0], 0
    for r in range(1, n):
        if given[r] < best:
            best, place = given[r], r
        elif given[r] == best and r % 2 == 0:
            place = r
    out[i] = best * 100 + place + i


@ordinary(6)
def a_table_of_steps(item, out, given, n):
    i = item.get_id(0)
    place = i
    for _ in range(n):
        step = given[place % 16] % 5
        if step == 0:
            place += 1
        elif step == 1:
            place += 3
        elif step == 2:
            place += 7
        elif step == 3:
            place = 15 - place % 16
        out[i] = 31 * (out[i] % 1000) + place


CHAINS: dict[str, tuple[tuple[Any, ...], str, dict[str, str]]] = {
    "long_chain_on_a_number": (
        (7, np.int64(-3)), "given[i] % 9 + n",
        {"0": "100", "1": "given[i]", "4": "7 * given[i]", "7": "-given[i]", "-3": "12", "12": "given[0]", "": "3"}),
    "chain_on_large_numbers": (
        (2**40, np.uint64(2**40)), "n * (i % 5)",
        {"0": "1", "2**40": "given[i]", "2**41": "3", "3 * 2**40": "given[i] + 4", "": "5"}),
    "chain_on_a_remainder_of_large_numbers": (
        (2**45,), "(n + i * 2**43) % 2**44", {"2**43": "1", "0": "given[i]", "2**42": "9", "5": "11", "": "2"}),
    "chain_on_floats": (
        (2.5, 0.5), "n * (i % 4)", {"0.0": "1", "2.5": "2", "5.0": "3", "1.0 or x == 1.5": "4", "": "5"}),
    "chain_on_small_numbers": (
        (3,), "np.int8(given[i] % 4)", {"3": "n", "0": "given[i]", "1": "20", "2": "given[i] * 2"}),
}  # fmt: skip
"""Kernels that compare one value with several: the last argument, the value, and what is written in each case."""


def chain(value: str, cases: dict[str, str], name: str) -> Callable[..., None]:
    lines = ["i = item.get_id(0)", f"x = {value}"]
    for case, result in cases.items():
        lines += [f"elif x == {case}:" if case else "else:", f"    out[i] = {result}"]
    text = "\n    ".join(lines).replace("elif", "if", 1)
    return one_line(text, "out", "given", "n", called=name)


for _name, (_numbers, _value, _cases) in CHAINS.items():
    ordinary(*_numbers)(chain(_value, _cases, _name))
