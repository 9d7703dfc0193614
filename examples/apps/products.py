"""What the applications that multiply two matrices share: the matrices, the check and the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ishmem.examples.apps.frame import App, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


class Product(App):
    """The product of A and B. Subclasses have the sizes as options."""

    rows: int
    inner: int
    columns: int

    def matrices(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return A and B: whole numbers, whose products are exact in any order."""
        random = np.random.default_rng(7)
        shapes = (self.rows, self.inner), (self.inner, self.columns)
        a, b = (random.integers(-9, 10, shape).astype("f8") for shape in shapes)
        return a, b

    def check(self, result: np.ndarray[Any, Any]) -> str:
        a, b = self.matrices()
        require(np.array_equal(result, a @ b), "the product differs from that of numpy")
        return f"the product of {self.rows} x {self.inner} and {self.inner} x {self.columns} is that of numpy"

    def draw_matrices(self, figure: Figure, result: np.ndarray[Any, Any], names: Sequence[str]) -> Any:
        """Draw A, B and the product beside each other; return their axes."""
        axes = figure.subplots(1, 3)
        for matrix, axis, name in zip((*self.matrices(), result), axes, names):
            axis.imshow(matrix, cmap="RdBu", interpolation="nearest")
            axis.set(title=name, xticks=[], yticks=[])
        return axes
