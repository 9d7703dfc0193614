"""Kernels whose flags are the program's own: atomics and plain stores of the kernel language, ordered by its fences.

With ``whole`` they are right; else they lack the fence that the docstring names. ``python -m plain_flags SEEDS
[NAME ...]``, started by ``ishmem run``, runs them on an emulated card with weak memory.
"""
