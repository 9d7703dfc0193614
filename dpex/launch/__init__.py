"""Launches of kernels: the types and values of arguments, submission by dpctl, and waits for events."""
