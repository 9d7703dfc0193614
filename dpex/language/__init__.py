"""The functions, operators and methods that kernels may use: the type rule and the code of each."""
