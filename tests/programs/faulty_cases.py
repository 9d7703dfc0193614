"""Cases for `ishmem bench`, most of which go wrong."""

import os

import numpy as np

import ishmem
from ishmem.benchmarks import Plan, Skip, case


@case("well", "host", size=(8, 16))
def well(w, size):
    a = w.blank(size)
    return Plan("ishmem.p(a, 5, pe)", {"ishmem": ishmem, "a": a, "pe": w.right}, active=(0,))


@case("garbled", "host")
def garbled(w):
    a = w.blank(8)

    def check(done):
        return w.expect(a, np.array([7 if w.pe else 0]))

    return Plan("ishmem.p(a, 5, pe)", {"ishmem": ishmem, "a": a, "pe": w.right}, check, active=(0,))


@case("drifting", "host")
def drifting(w):
    a = w.blank(8)

    def check(done):
        return w.expect(a, np.array([int(done > 1) * 99 if w.pe else 0]))

    return Plan("pass", {}, check, active=(0,))


@case("senseless", "host")
def senseless(w):
    raise Skip("there is no sense in it")


@case("raising", "host")
def raising(w):
    return Plan("1 / 0", {})


@case("dying", "host")
def dying(w):
    return Plan("leave(3) if pe else None", {"leave": os._exit, "pe": w.pe})


@case("after", "host")
def after(w):
    return Plan("ishmem.barrier_all()", {"ishmem": ishmem})
