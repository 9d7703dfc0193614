"""Compiled code on disk: kernels and device functions, their keys, and the folders that processes share."""
