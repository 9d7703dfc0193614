"""Inner functions and lambdas of kernels take keywords and defaults as in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from launching import own_compiler, run

pytestmark = own_compiler


def calls(item: Any, n: Any, o: Any) -> None:
    x = n

    def product(a: Any, b: Any = 3) -> Any:
        return a * b

    def late(a: Any, b: Any = x + 1, *, c: Any) -> Any:
        return a * 100 + b * 10 + c

    def outer(a: Any, b: Any = 2) -> Any:
        def inner(p: Any, q: Any = 4, r: Any = 5) -> Any:
            return p * 100 + q * 10 + r

        return inner(a, r=b)

    digits = lambda a, b=3, c=7: a * 100 + b * 10 + c  # noqa: E731
    x = 50
    o[0], o[1], o[2] = product(2, b=5), digits(1, 2), digits(1, c=9)
    o[3], o[4], o[5] = late(1, c=3), outer(1), outer(b=7, a=2)
    o[6], o[7], o[8] = product(a=2), digits(1), digits(c=1, b=2, a=3)
    for i in range(3):
        o[9] += product(i, b=i)


def test_keywords_and_defaults() -> None:
    wanted = np.zeros(10, np.int64)
    calls(None, 2, wanted)
    assert run(calls, 1, 2, np.zeros(10, np.int64))[0].tolist() == wanted.tolist()
