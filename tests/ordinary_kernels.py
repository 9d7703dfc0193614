"""Ordinary Python that kernels are made of; each is compiled for the device and run as plain Python, and must agree.

A kernel gets an item, 16 numbers to write, 16 to read, and one number more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable

import numpy as np

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
    weights, halves, total = (3, 5, 7), (0.5, 1.5, 2.5), 0.0
    for r in range(n):
        out[i] += weights[r] * given[(i + r) % 16]
        total += halves[r] * given[i]
    out[i] += int(total)


@ordinary(7, np.int64(-3))
def long_chain_on_a_number(item, out, given, n):
    i = item.get_id(0)
    x = given[i] % 9 + n
    if x == 0:
        out[i] = 100
    elif x == 1:
        out[i] = given[i]
    elif x == 4:
        out[i] = 7 * given[i]
    elif x == 7:
        out[i] = -given[i]
    elif x == -3:
        out[i] = 12
    elif x == 12:
        out[i] = given[0]
    else:
        out[i] = 3


@ordinary(2**40, np.uint64(2**40))
def chain_on_large_numbers(item, out, given, n):
    i = item.get_id(0)
    x = n * (i % 5)
    if x == 0:
        out[i] = 1
    elif x == 2**40:
        out[i] = given[i]
    elif x == 2**41:
        out[i] = 3
    elif x == 3 * 2**40:
        out[i] = given[i] + 4
    else:
        out[i] = 5
    x = (n * 2**5 + i * 2**43) % 2**44
    if x == 2**43:
        out[i] += 100
    elif x == 0:
        out[i] += 10 * given[i]
    elif x == 2**42:
        out[i] += 900
    elif x == 5:
        out[i] += 1100
    else:
        out[i] += 200


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


@ordinary(2.5, 0.5)
def chain_on_floats(item, out, given, n):
    i = item.get_id(0)
    x = n * (i % 4)
    if x == 0.0:
        out[i] = 1
    elif x == 2.5:
        out[i] = 2
    elif x == 5.0:
        out[i] = 3
    elif x == 1.0 or x == 1.5:
        out[i] = 4
    else:
        out[i] = 5


@ordinary(3)
def tuple_of_tuples(item, out, given, n):
    i = item.get_id(0)
    offsets = ((-1, 0), (1, 0), (0, 1), (0, -1))
    for dx, dy in offsets:
        x, y = i % 4 + dx, i // 4 + dy
        if 0 <= x < 4 and 0 <= y < 4:
            out[i] += given[4 * y + x] * n


@ordinary(3)
def chain_on_small_numbers(item, out, given, n):
    i = item.get_id(0)
    x = np.int8(given[i] % 4)
    if x == 3:
        out[i] = n
    elif x == 0:
        out[i] = given[i]
    elif x == 1:
        out[i] = 20
    elif x == 2:
        out[i] = given[i] * 2
