"""PEs that die, hang, or are asked where they are.

Arguments: how PE 1 ends, a function of this program, and the arguments of that function.
"""

import contextlib
import ctypes
import faulthandler
import functools
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import ishmem
from ishmem.common.status_board import INSIST, StatusBoard

VICTIM = 1
me = int(os.environ.get("ISHMEM_PE", -1))


def fail():
    raise SystemError("mine")


ENDS = {
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSEGV": lambda: ctypes.string_at(0),
    "0": lambda: os._exit(0),
    "7": lambda: os._exit(7),
    "sys.exit": lambda: sys.exit(7),
    "error": fail,
}


def start():
    """Initialise; return two elements and a lock."""
    ishmem.init()
    a, lock = ishmem.zeros(2, dtype="i8"), ishmem.zeros(1, dtype="i8")
    ishmem.barrier_all()
    return a, lock


def end():
    """End this PE in the way of the first argument."""
    ENDS[sys.argv[1]]()


def end_soon():
    """End this PE while it goes on."""
    threading.Timer(0.5, end).start()


def board():
    return StatusBoard.find(os.environ["ISHMEM_BOARD"], int(os.environ["ISHMEM_NPES"]))


def until(condition):
    """Wait until the status board satisfies a condition."""
    seen = board()
    while not condition(seen):
        time.sleep(0.01)


def told(call, *args, kind=ishmem.PeerLost):
    """Make a call that raises, print the error in one line and exit."""
    try:
        call(*args)
    except kind as error:
        print("told", getattr(error, "pe", ""), str(error).replace("\n", "|"), flush=True)
        if sys.argv[1] in ("sys.exit", "error"):
            until(lambda board: board[VICTIM].ended)  # the first one that ends has the status of the job
        raise SystemExit(5) from None
    print("not told")


# ---- PE 1 dies


def end_when_others_are_in_init():
    until(lambda board: board[0].state and board[2].state)
    end()


def before_init():
    if me == VICTIM:
        end_when_others_are_in_init()
    told(ishmem.init)


def before_init_one_late():
    from ishmem.ipc.links import Links

    join = Links._join

    def late(*args):
        if me == 2:
            until(lambda board: board[0].ended)
        return join(*args)

    if me == VICTIM:
        end_when_others_are_in_init()
    Links._join = late
    told(ishmem.init)


def while_the_heaps(step):
    """End in a step of `SymmetricHeap`."""
    from ishmem.runtime.heap import SymmetricHeap

    if me == VICTIM:
        setattr(SymmetricHeap, step, lambda *_: end())
    told(ishmem.init)


def between_operations():
    start()
    if me == VICTIM:
        time.sleep(0.3)
        end()
    told(ishmem.barrier_all)


def while_it_waits(call):
    """End in a call; the others are in a wait."""
    a, _ = start()
    if me == VICTIM:
        end_soon()
        getattr(ishmem, call)(*([a, ishmem.CMP_EQ, 9] if call == "wait_until" else []))
    told(ishmem.wait_until if call == "barrier_all" else ishmem.wait_until_any, a, ishmem.CMP_EQ, 9)


def with_a_lock():
    _, lock = start()
    if me == VICTIM:
        ishmem.set_lock(lock)
        ishmem.barrier_all()
        time.sleep(0.3)
        end()
    ishmem.barrier_all()
    told(ishmem.set_lock, lock)


def waiting_for_a_lock():
    _, lock = start()
    if me == 0:
        ishmem.set_lock(lock)
    ishmem.barrier_all()
    if me == VICTIM:
        end_soon()
        ishmem.set_lock(lock)
    told(ishmem.barrier_all)


def before(call):
    """End where the others make a collective call."""
    a, _ = start()
    if call == "finalize":
        ishmem.free_all()
    if me == VICTIM:
        end()
    calls = {"zeros": (5,), "sum_reduce": (a, a), "team_split_strided": (ishmem.TEAM_WORLD, 0, 1, 2)}
    told(getattr(ishmem, call), *calls.get(call, ()))


@functools.cache
def waiting_kernel():
    from ishmem import dpex

    @dpex.kernel
    def wait(item, a, value):
        ishmem.wait_until(a, ishmem.CMP_EQ, value)

    return functools.partial(dpex.call_kernel, wait, dpex.Range(1))


def launch(a, value):
    """Wait for an element in a kernel."""
    waiting_kernel()(a, value)  # kernel


def in_a_kernel():
    """End by a signal in a kernel."""
    a, _ = start()
    launch(a, 0)
    ishmem.barrier_all()
    if me == VICTIM:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        launch(a, 9)
    told(ishmem.barrier_all)


def beside_a_kernel():
    """End while a kernel of PE 0 waits."""
    a, _ = start()
    launch(a, 0)
    ishmem.barrier_all()
    if me == VICTIM:
        time.sleep(0.5)
        end()
    if me == 0:
        launch(a, 9)
    told(ishmem.barrier_all)


def in_inference(call):
    """End while the others wait for a call of inference."""
    import dpnp

    ishmem.init()
    n = ishmem.n_pes()
    experts, tp = ishmem.moe.Buffer(4, 64, n, 1), ishmem.inference.Communicator(4096)
    x, choices = dpnp.ones((4, 64), dtype="f4"), dpnp.full((4, 1), (me + 1) % n, dtype="i8")
    calls = {"dispatch": lambda: experts.low_latency_dispatch(x, choices)[3], "all_reduce": lambda: tp.all_reduce(x)}
    calls[call]().wait()
    ishmem.barrier_all()
    if me == VICTIM:
        time.sleep(2)
        end()
    calls[call]().wait()  # inference


def while_compiling():
    """Be killed while the fork that runs LLVM compiles a kernel."""
    from llvmlite import binding

    a, _ = start()
    pe = os.getpid()
    binding.ModuleRef.verify = lambda _module: os.kill(pe, signal.SIGKILL)
    launch(a, 0)


def while_pe_0_computes():
    """End while PE 0 runs compiled code that holds the interpreter's lock."""
    start()
    if me == 0:
        ctypes.PyDLL(None).sleep(60)
    if me == VICTIM:
        time.sleep(0.3)
        end()
    told(ishmem.barrier_all)


def where_pes_are():
    """End when two PEs have waited for long and one sleeps."""
    a, _ = start()
    if me == VICTIM:
        until(lambda board: board[0].since and board[2].since)
        time.sleep(0.5)
        end()
    elif me == 0:
        ishmem.barrier_all()  # barrier
    elif me == 2:
        ishmem.wait_until(a, ishmem.CMP_GE, 9, 1)  # wait
    elif me == 3:
        time.sleep(9)  # sleep


def global_exit(who, status, where):
    """A PE calls global_exit; the others are somewhere."""
    a, _ = start()
    print("flushed", end="")
    if me == int(who):
        time.sleep(1.0 if where == "kernel" else 0.1)
        if where == "thread":
            threading.Thread(target=ishmem.global_exit, args=(int(status),)).start()
            ishmem.wait_until(a, ishmem.CMP_EQ, 1)
        ishmem.global_exit(int(status))
    elif where == "kernel":
        launch(a, 1)
    elif where == "barrier":
        ishmem.barrier_all()
    elif where == "event":
        ishmem.wait_until_on_queue(a, ishmem.CMP_EQ, 1).wait()
    elif where == "sleep":
        time.sleep(100)
    else:
        ishmem.wait_until(a, ishmem.CMP_EQ, 1)
    print("not reached")


def amid_sums(does):
    """End PE 0 in one of two jobs that sum."""
    ishmem.init(heap_size="4M")
    mine, sums = ishmem.full(100, me + 1, dtype="i8"), ishmem.zeros(100, dtype="i8")
    for turn in range(500):
        ishmem.sum_reduce(sums, mine)
        assert (sums.asnumpy() == 3).all()
        if turn == 100 and does == "ends" and me == 0:
            end()
    print("right")


# ---- PEs hang


def wait_in_vain():
    a, _ = start()
    print("ready", flush=True)
    ishmem.wait_until(a, ishmem.CMP_EQ, 9)


def hang():
    """Three PEs wait in different calls."""
    a, lock = start()
    if me == 0:
        ishmem.set_lock(lock)
        told(ishmem.barrier_all, kind=ishmem.WaitTimeout)
    elif me == 1:
        told(ishmem.wait_until_all, a, ishmem.CMP_NE, 0, kind=ishmem.WaitTimeout)
    time.sleep(0.5)
    told(ishmem.set_lock, lock, kind=ishmem.WaitTimeout)


def hang_in_kernels():
    a, _ = start()
    launch(a, 0)
    ishmem.barrier_all()
    launch(a, 9)


def hang_without_launcher(uid, rank):
    ishmem.init(uid=uid, rank=int(rank), nranks=2)
    ishmem.wait_until(ishmem.zeros(1, dtype="i8"), ishmem.CMP_EQ, 1)


def come_late():
    """PE 1 comes to a barrier late."""
    start()
    time.sleep(1.5 * (me == VICTIM))
    fine()


# ---- nothing goes wrong


def fine():
    start()
    ishmem.free_all()
    ishmem.finalize()
    print("fine")


def with_few_file_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
    start()


def with_jobs_of_its_own():
    """Start a program that is a job of its own, and a job of two PEs; print what they print."""
    start()
    one = "import ishmem; ishmem.init(); print('alone', ishmem.my_pe(), ishmem.n_pes()); ishmem.finalize()"
    alone = [sys.executable, "-c", one]
    for command in (alone, [sys.executable, "-m", "ishmem.launch.run", "-n", "2", *alone]):
        done = subprocess.run(command, capture_output=True, text=True)
        print(sorted(done.stdout.splitlines()), done.stderr)
    ishmem.free_all()
    ishmem.finalize()


def count(n):
    """Run Python whose frames change."""

    def numbers():
        yield from range(3)

    with contextlib.suppress(ZeroDivisionError):
        exec("1 / 0")
    return sum(numbers()) + (count(n - 1) if n else 0)


def hold_the_interpreter():
    other = subprocess.Popen(["sh", "-c", "sleep 2; echo"], stdout=subprocess.PIPE)
    ctypes.PyDLL(None).read(other.stdout.fileno(), ctypes.create_string_buffer(1), 1)  # held


def asked_where_it_is():
    """PE 1 is asked again and again, in Python and in code that holds the interpreter."""
    ishmem.init()
    done, seen, places = ishmem.zeros(1, dtype="i8"), board(), set()
    if me == VICTIM:
        while ishmem.g(done, me) == 0:
            count(5)
        ishmem.barrier_all()
        hold_the_interpreter()
    else:
        for _ in range(300):
            places |= {seen.find_places([VICTIM]).get(VICTIM)}
        ishmem.p(done, 1, VICTIM)
        ishmem.barrier_all()
        time.sleep(0.2)
        print(len(places - {None}), seen.find_places([VICTIM]), flush=True)
    ishmem.finalize()


def asked_while_it_ends():
    """A PE is asked where it is when it no longer has a handler for that."""
    ishmem.init()
    ishmem.finalize()
    faulthandler.unregister(INSIST)  # as the interpreter does when it ends
    os.kill(os.getpid(), INSIST)
    print("goes on", flush=True)


globals()[sys.argv[2]](*sys.argv[3:])
