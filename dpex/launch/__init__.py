"""Launches of kernels: the kinds of arguments, submission by dpctl, and waits for events."""
