"""Prints the file descriptors that a program started by a PE has."""

import subprocess
import sys

import ishmem

ishmem.init("8M")
kept = ishmem.static("kept", 4)
listing = """
import os
links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd") if int(number) > 2)
print(sorted(os.readlink(link) for link in links if os.path.exists(link)))
"""
print(subprocess.run([sys.executable, "-S", "-c", listing], close_fds=False, capture_output=True, text=True).stdout)
ishmem.finalize()
