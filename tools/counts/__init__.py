"""Counts instructions, messages and fences of kernels on emulated cards: ``python -m tools.counts``."""
