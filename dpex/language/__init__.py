"""The functions, operators and methods that kernels may use, each with its type rule and its code generator."""
