"""Compiles Python functions to SPIR-V: numba's target for the device, type inference, lowering, LLVM, and messages."""
