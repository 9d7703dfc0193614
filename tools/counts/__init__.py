"""Counts of what kernels execute on emulated cards: ``python -m tools.counts``."""
