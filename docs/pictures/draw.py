"""Draws the pictures of the concepts: python docs/pictures/draw.py writes them beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update({"svg.hashsalt": "ishmem", "svg.fonttype": "none", "font.family": "sans-serif"})
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import FancyArrowPatch, Rectangle  # noqa: E402

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, GREY, INK = "#cfe2f3", "#f9cb9c", "#d9ead3", "#eeeeee", "#333333"


def canvas(width: float, height: float) -> Any:
    """Return axes whose unit is a tenth of an inch, on a white ground that a dark page shows as well."""
    figure = plt.figure(figsize=(width / 10, height / 10), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return axes


def box(axes: Any, x: float, y: float, width: float, height: float, words: str = "", color: str = GREY) -> None:
    """Draw a box with words in its middle."""
    axes.add_patch(Rectangle((x, y), width, height, facecolor=color, edgecolor=INK, linewidth=1))
    axes.text(x + width / 2, y + height / 2, words, ha="center", va="center", fontsize=9, color=INK)


def label(axes: Any, x: float, y: float, words: str, align: str = "center", size: int = 9) -> None:
    """Write words."""
    axes.text(x, y, words, ha=align, va="center", fontsize=size, color=INK)


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], bend: float = 0, color: str = INK) -> None:
    """Draw an arrow."""
    style = f"arc3,rad={bend}"
    axes.add_patch(
        FancyArrowPatch(start, end, connectionstyle=style, arrowstyle="-|>", mutation_scale=12, color=color, lw=1.4)
    )


def symmetric_heap(axes: Any) -> None:
    """Four heaps with the same arrays at the same offsets, and a put from PE 0 to PE 2."""
    for pe in range(4):
        x = 2 + 17 * pe
        label(axes, x + 7, 37, f"PE {pe}", size=11)
        box(axes, x, 9, 14, 25, color=GREY)
        box(axes, x, 27, 14, 5, "counters", GREEN)
        box(axes, x, 18, 14, 6, "box", BLUE)
    box(axes, 2, 2, 14, 4, "data", ORANGE)
    arrow(axes, (16, 4), (43, 18), 0.25, "#c0504d")
    label(axes, 27, 2.5, "put(box, data, 2)")
    axes.annotate("", (71.5, 34), (71.5, 24), arrowprops={"arrowstyle": "<->", "color": INK})
    label(axes, 72.5, 29, "offset of box,\nthe same on\nevery PE", "left")


def memory_kinds(axes: Any) -> None:
    """The memories of two PEs and who reaches them."""
    for pe, x, shared, own in ((0, 2, 15, 2), (1, 44, 2, 21)):
        label(axes, x + 17, 37, f"PE {pe}", size=11)
        box(axes, x, 19, 34, 15)
        label(axes, x + 1, 32.3, "GPU", "left")
        box(axes, x + shared, 20.5, 17, 9, "symmetric heap\nishmem.zeros", BLUE)
        box(axes, x + own, 20.5, 11, 9, "dpnp.zeros", GREEN)
        box(axes, x, 2, 34, 13)
        label(axes, x + 1, 13.3, "host", "left")
        box(axes, x + shared, 3.5, 17, 7.5, "ishmem.static", BLUE)
        box(axes, x + own, 3.5, 11, 7.5, "numpy.zeros", ORANGE)
    for y, words in ((25, "kernels\nand hosts"), (7, "hosts")):
        axes.annotate("", (46, y), (34, y), arrowprops={"arrowstyle": "<|-|>", "color": "#c0504d", "lw": 1.4})
        label(axes, 40, y + 2.2, words, size=8)


def ordering(axes: Any) -> None:
    """The life lines of a sender and a receiver."""
    for y, words in ((24, "PE 0"), (6, "PE 1")):
        label(axes, 4, y, words, size=11)
        axes.plot([9, 88], [y, y], color=INK, lw=1, zorder=0)
    for x, words, color in ((12, "put(box, data)", BLUE), (31, "fence()", GREEN), (45, "atomic_set(flag, 1)", ORANGE)):
        width = {12: 15, 31: 10, 45: 19}[x]
        box(axes, x, 22, width, 4, words, color)
    box(axes, 12, 4, 51, 4, "wait_until(flag, CMP_EQ, 1)", ORANGE)
    box(axes, 67, 4, 16, 4, "read box", BLUE)
    arrow(axes, (20, 22), (44, 8), 0, "#3d6fa5")
    label(axes, 27.5, 13.5, "data", size=9)
    arrow(axes, (54, 22), (63, 8), 0, "#c07820")
    label(axes, 62, 15, "flag", size=9)
    label(axes, 44, 1.5, "the data arrive before the flag, whatever the network does", size=9)


def halo(axes: Any) -> None:
    """Two PEs' blocks with their halos."""
    for pe, x in ((0, 3), (1, 45)):
        label(axes, x + 15, 33, f"cells of PE {pe}", size=11)
        for row in range(6):
            words, color = "", GREY
            if row == 0:
                words, color = "halo" if pe else "edge of the grid", ORANGE if pe else "white"
            if row == 5:
                words, color = ("edge of the grid" if pe else "halo"), "white" if pe else ORANGE
            if (row == 4 and pe == 0) or (row == 1 and pe == 1):
                words, color = "edge", BLUE
            box(axes, x, 26 - 5 * row, 30, 4.5, words, color)
    arrow(axes, (33, 8.2), (45, 28.2), 0, "#c0504d")
    arrow(axes, (45, 23.2), (33, 3.2), 0, "#c0504d")
    label(axes, 39, 30.5, "put_signal")


def index_space(axes: Any) -> None:
    """The work-items of NdRange((16,), (8,)): two work-groups of two sub-groups, and the memory that each reaches."""
    label(axes, 44, 46.5, "NdRange((16,), (8,)): 16 work-items, item.get_global_id(0)", size=11)
    for group in range(2):
        left = 2 + 43 * group
        box(axes, left, 19, 41, 24, color="white")
        label(axes, left + 1, 41.3, f"work-group, item.get_group().get_group_id(0) is {group}", "left")
        for sub in range(2):
            at = left + 1.5 + 19.5 * sub
            box(axes, at, 28, 18.5, 11.5, color=GREY)
            label(axes, at + 1, 38, f"sub-group {sub}", "left")
            for place in range(4):
                number = 8 * group + 4 * sub + place
                box(axes, at + 1 + 4.2 * place, 32, 3.8, 4, str(number), BLUE)
                label(axes, at + 2.9 + 4.2 * place, 30, f"[{4 * sub + place}]", size=8)
        box(axes, left + 1.5, 20.5, 38, 5.5, "LocalAccessor: one for each work-group", GREEN)
    label(axes, 44, 16.8, "number: global id; [number]: get_local_id(0); each work-item has its own PrivateArray")
    box(axes, 2, 9, 84, 5.5, "arrays that are arguments: device memory, the symmetric heap in it", ORANGE)
    for x in (5, 83):
        axes.annotate("", (x, 14.5), (x, 19), arrowprops={"arrowstyle": "<|-|>", "color": INK, "lw": 1.4})
    box(axes, 2, 1.5, 84, 4.5, "the heaps of other PEs", GREY)
    axes.annotate("", (44, 6), (44, 9), arrowprops={"arrowstyle": "<|-|>", "color": "#c0504d", "lw": 1.4})
    label(axes, 46, 7.5, "ishmem.put, get, atomic_* in the kernel", "left")


PICTURES = {
    "index-space": (index_space, 88, 49),
    "symmetric-heap": (symmetric_heap, 86, 40),
    "memory-kinds": (memory_kinds, 80, 40),
    "ordering": (ordering, 90, 29),
    "halo": (halo, 78, 36),
}


def main(ending: str = "svg", folder: Path = HERE) -> None:
    """Draw all pictures."""
    for name, (draw, width, height) in PICTURES.items():
        axes = canvas(width, height)
        draw(axes)
        plt.savefig(folder / f"{name}.{ending}", metadata={"Date": None} if ending == "svg" else None, dpi=110)
        plt.close()


if __name__ == "__main__":
    main()
