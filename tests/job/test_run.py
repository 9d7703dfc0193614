"""The launcher, with PE programs that need no ishmem and so start fast."""

import contextlib
import errno
import os
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import textwrap
import time
import uuid

import pytest
from confined import MEMFD_CREATE, deny
from subprocesses import program, run_command, run_program

from ishmem.common import limits, processes as common_processes

RUN = [sys.executable, "-m", "ishmem.launch.run"]

HEAD = """
import os, signal, subprocess, sys, time
pe, n = int(os.environ["ISHMEM_PE"]), int(os.environ["ISHMEM_NPES"])
"""


def run(body, n, *args, **options):
    return run_program(HEAD + textwrap.dedent(body), n, *args, **options)


@pytest.fixture
def mark(monkeypatch):
    """A variable in the environment of all processes of a test, by which they are found."""
    value = uuid.uuid4().hex
    monkeypatch.setenv("TEST_MARK", value)
    yield value
    assert eventually(lambda: not processes(value)), f"left behind: {processes(value)}"


def processes(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"TEST_MARK={mark}".encode() in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def eventually(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def start(tmp_path, body, n, *options, **popen):
    """Start a job, and wait until each PE has written a line ``ready``."""
    program = tmp_path / "prog.py"
    program.write_text(HEAD + textwrap.dedent(body))
    command = [*RUN, "-n", str(n), *options, str(program)]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
    seen = b""
    while seen.count(b"ready") < n:
        assert select.select([job.stdout], [], [], 20)[0], seen
        seen += os.read(job.stdout.fileno(), 4096) or pytest.fail(f"ended early: {job.communicate()}")
    return job


@pytest.mark.parametrize(("sim", "devices"), [(2, 2), (None, 3)])
def test_environment_of_each_pe(sim, devices):
    """Each PE has a simulated device if their number is not given."""
    names = "ISHMEM_PE ISHMEM_NPES ISHMEM_JOB ISHMEM_DEVICE ISHMEM_SIM_DEVICES ONEAPI_DEVICE_SELECTOR"
    done = run(f"print(*[os.environ[name] for name in {names.split()}])", 3, sim=sim)
    assert done.returncode == 0
    assert done.stderr == ""
    rows = sorted(line.split() for line in done.stdout.splitlines())
    jobs = {row[3] for row in rows}
    assert len(jobs) == 1
    assert re.fullmatch("[0-9a-f]{32}", jobs.pop())
    assert [[*row[:3], *row[4:]] for row in rows] == [
        [f"[{pe}]", str(pe), "3", "sim", str(devices), f"level_zero:{pe % devices}"] for pe in range(3)
    ]


def test_the_users_variables_stay():
    env = {"ONEAPI_DEVICE_SELECTOR": "opencl:cpu", "ISHMEM_SIM_DEVICES": "5", "LD_LIBRARY_PATH": "/mine"}
    done = run(f"print(*[os.environ[name] for name in {list(env)}])", 1, env=env)
    selector, devices, path = done.stdout.split()[1:]
    assert (selector, devices) == ("opencl:cpu", "5")
    assert path.endswith(":/mine")


def test_variables_of_an_outer_job_are_replaced():
    env = {"ISHMEM_PE": "7", "ISHMEM_NPES": "9", "ISHMEM_JOB": "0" * 32}
    env["ONEAPI_DEVICE_SELECTOR"] = "level_zero:7"
    outer = {**env, "ISHMEM_SELECTED": "level_zero:7 "}
    done = run("print(*[os.environ[name] for name in sys.argv[1:]])", 1, *env, env=outer)
    pe, npes, job, selector = done.stdout.split()[1:]
    assert (pe, npes, selector) == ("0", "1", "level_zero:0")
    assert job != "0" * 32


def test_arguments_are_passed_on():
    assert run("print(sys.argv[1:])", 1, "-n", "5", "--sim", "x").stdout == "[0] ['-n', '5', '--sim', 'x']\n"


def test_module():
    done = run_command([*RUN, "-n", "2", "-m", "platform", "--terse"])
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2


def test_executable():
    done = run_command([*RUN, "-n", "2", "sh", "-c", "echo $ISHMEM_PE; exit 5"])
    assert done.returncode == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "0", "x.py"], "-n: got '0', allowed: a whole number, at least 1"),
        (["-n", "-3", "x.py"], "-n"),
        (["-n", "2", "--stdin", "12345678901", "x.py"], "--stdin: got '12345678901', allowed: a whole number"),
        (["-n", "1.5", "x.py"], "-n: got '1.5'"),
        (["-n", "2", "--sim", "0", "x.py"], "--sim: got '0'"),
        (["-n", "2", "--timeout", "nan", "x.py"], "--timeout: got 'nan'"),
        (["-n", "2"], "no program given"),
        (["x.py"], "-n"),
        (["-n", "2", "there_is_none.py"], "no such program: there_is_none.py"),
        (["-n", "2", "there_is_none"], "no such program: there_is_none"),
        (["-n", "2", "-m", "there_is_none.x"], "no such module: there_is_none.x"),
        (["-n", "2", "--what", "x.py"], "--what"),
    ],
)
def test_wrong_usage(arguments, message):
    done = run_command([*RUN, *arguments])
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("ishmem run: ")
    assert message in done.stderr


def test_wrong_number_of_devices():
    done = run("pass", 1, env={"ISHMEM_SIM_DEVICES": "none", "ISHMEM_DEVICE": "sim"})
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "ISHMEM_SIM_DEVICES: got 'none'" in done.stderr


def test_program_that_does_not_start(tmp_path):
    program = tmp_path / "broken"
    program.write_text("#!/there/is/none\n")
    program.chmod(0o755)
    done = run_command([*RUN, "-n", "2", str(program)])
    assert done.returncode == 2
    assert done.stderr.startswith(f"ishmem run: cannot start {program}: ")


@pytest.mark.parametrize(
    ("fails", "status", "how"),
    [
        ("print('up'); time.sleep(0.2); sys.exit(3)", 3, "exited with status 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV, "was ended by SIGSEGV"),
    ],
)
def test_failing_pe_ends_the_rest(mark, fails, status, how):
    done = run(f"if pe != 1: time.sleep(600)\n{fails}", 3)
    assert (done.returncode, done.stderr) == (status, f"ishmem run: PE 1 {how}; ending the other PEs\n")


def test_pe_that_ignores_sigterm_is_killed(mark, tmp_path):
    body = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(f"{sys.argv[1]}/{pe}", "w").close()
    while len(os.listdir(sys.argv[1])) < n: time.sleep(0.01)
    sys.exit(4) if pe else time.sleep(60)
    """
    assert run(body, 2, str(tmp_path)).returncode == 4


def test_traceback_comes_before_the_launchers_line():
    done = run("raise RuntimeError('oh')", 1)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == ["[0] RuntimeError: oh", "ishmem run: PE 0 exited with status 1"]


def test_timeout(mark):
    done = run("print('up'); time.sleep(60) if pe else None", 3, options=["--timeout", "3"])
    assert done.returncode == 124
    assert done.stderr == "ishmem run: timed out after 3 s; ending PE 1, 2\n"
    assert done.stdout.count("up") == 3


def test_signal_reaches_each_pe_once(tmp_path, mark):
    body = """
    got = []
    signal.signal(signal.SIGTERM, lambda *_: got.append(1))
    print("ready")
    while not got: time.sleep(0.01)
    time.sleep(0.3)
    print("got", len(got))
    """
    job = start(tmp_path, body, 3)
    job.terminate()
    out, _ = job.communicate(timeout=60)
    assert job.returncode == 0
    assert sorted(out.decode().splitlines()) == [f"[{pe}] got 1" for pe in range(3)]


def test_signal_while_waiting() -> None:
    """A signal is forwarded although the main thread waits in C, where no handler of Python runs."""
    done = subprocess.run([sys.executable, str(program("signal_during_a_call_of_c"))], timeout=60)
    assert done.returncode == -signal.SIGTERM


def test_second_signal_kills(tmp_path, mark):
    job = start(tmp_path, "signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready'); time.sleep(60)", 2)
    job.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert job.poll() is None
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=60)
    assert job.returncode == 128 + signal.SIGKILL


CHILDREN = """
child = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"]
subprocess.Popen(child)
subprocess.Popen(child, start_new_session=True)
subprocess.Popen(["sh", "-c", "setsid sleep 60 & exit"], start_new_session=True).wait()
"""


@pytest.mark.parametrize("victim", ["launcher", "supervisor"])
def test_what_is_killed_leaves_nothing(tmp_path, mark, victim):
    job = start(tmp_path, CHILDREN + "print('ready'); time.sleep(60)", 2)
    assert len(processes(mark)) >= 8
    with open(f"/proc/{job.pid}/task/{job.pid}/children") as file:
        (supervisor,) = map(int, file.read().split())
    os.kill(job.pid if victim == "launcher" else supervisor, signal.SIGKILL)
    job.communicate(timeout=60)
    assert job.returncode == (-signal.SIGKILL if victim == "launcher" else 128 + signal.SIGKILL)
    assert eventually(lambda: not processes(mark), 30.0 if victim == "launcher" else 0.0)


def test_broken_pipe_ends_quietly(mark):
    command = [*RUN, "-n", "2", "yes"]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    job.stdout.read(4)
    job.stdout.close()
    _, errors = job.communicate(timeout=60)
    assert errors == b""
    assert job.returncode == 128 + signal.SIGPIPE


def test_flood_is_not_torn():
    body = """
    for i in range(4000):
        stream = sys.stderr if i % 2 else sys.stdout
        os.write(stream.fileno(), f"{pe} {i} {'x' * (i % 200)}\\n".encode())
    """
    done = run(body, 3)
    for lines, odd in ((done.stdout.splitlines(), 0), (done.stderr.splitlines(), 1)):
        for pe in range(3):
            mine = [line for line in lines if line.startswith(f"[{pe}] ")]
            assert mine == [f"[{pe}] {pe} {i} {'x' * (i % 200)}" for i in range(odd, 4000, 2)]
        assert len(lines) == 6000


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("os.write(1, b'y' * 300000 + b'\\n' + b'z')", b"[0] " + b"y" * 300000 + b"\n[0] z\n"),
        ("print('no end', end='')", b"[0] no end\n"),
        (r"[os.write(1, b'\r%d%%' % i) for i in (0, 50)]; os.write(1, b'\r\nend\r\n')",
         b"[0] 0%\r[0] 50%\r\n[0] end\r\n"),
    ],
    ids=["long line", "no end", "progress bar"],
)  # fmt: skip
def test_lines_stay_whole(body, wanted):
    assert output(f"import os; {body}") == wanted


def output(body, *options):
    program = [sys.executable, "-c", body]
    return subprocess.run([*RUN, "-n", "1", *options, *program], check=True, stdout=subprocess.PIPE).stdout


def test_binary_junk():
    body = "import os; os.write(1, bytes(range(256)) * 300)"
    junk = bytes(range(256)) * 300
    assert output(body).replace(b"[0] ", b"").replace(b"\n", b"") == junk.replace(b"\n", b"")
    assert output(body, "--no-prefix") == junk


def test_no_prefix():
    done = run("os.write(1, b'out\\n'); os.write(2, b'err\\n')", 2, options=["--no-prefix"])
    assert (done.stdout, done.stderr) == ("out\n" * 2, "err\n" * 2)


def test_nohup_is_respected(tmp_path, mark):
    job = start(
        tmp_path,
        "print('ready'); time.sleep(1); print('end')",
        1,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    job.send_signal(signal.SIGHUP)
    out, _ = job.communicate(timeout=60)
    assert (job.returncode, out) == (0, b"[0] end\n")


def inherits(number, how):
    """Return what to do before exec so that a signal is ignored or blocked."""

    def prepare():
        if how == "ignored":
            signal.signal(number, signal.SIG_IGN)
        else:
            signal.pthread_sigmask(signal.SIG_BLOCK, [number])

    return prepare


def prepared(prepare, *words):
    """Run a job by a launcher that does something before exec."""
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run([*RUN, *words], **streams, timeout=60, preexec_fn=prepare)


SHOW_SIGNALS = """
numbers = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE)
print("blocked", sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
print("ignored", *[number.name for number in numbers if signal.getsignal(number) == signal.SIG_IGN])
print("child", subprocess.run(["sh", "-c", "exit 3"]).returncode)
"""


@pytest.mark.slow_cases("the same with ignored signals", "blocked-")
@pytest.mark.parametrize("number", [signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
@pytest.mark.parametrize("how", ["ignored", "blocked"])
def test_signals_that_the_parent_ignores_or_blocks(tmp_path, mark, number, how):
    """The job ends by itself; PEs see children end and block nothing; what nohup and shells ignore stays ignored."""
    (tmp_path / "prog.py").write_text(HEAD + SHOW_SIGNALS)
    done = prepared(inherits(number, how), "-n", "1", str(tmp_path / "prog.py"))
    stays = {signal.SIGINT, signal.SIGHUP, signal.SIGUSR1} if how == "ignored" else set()
    ignored = [each.name for each in (number,) if each in stays]
    lines = ["blocked []", " ".join(["ignored", *ignored, "SIGPIPE"]), "child 3"]
    assert done.stdout.splitlines() == [f"[0] {line}" for line in lines], done
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("sent", "how", "number"),
    [
        *((number, "", 0) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
        *((signal.SIGTERM, how, signal.SIGCHLD) for how in ("ignored", "blocked")),
        *((signal.SIGTERM, how, signal.SIGTERM) for how in ("ignored", "blocked")),
    ],
)
def test_signal_ends_the_job(tmp_path, mark, sent, how, number):
    """Whatever the parent ignores or blocks."""
    prepare = inherits(number, how) if how else None
    job = start(tmp_path, "print('ready'); time.sleep(60)", 2, preexec_fn=prepare)
    job.send_signal(sent)
    job.communicate(timeout=60)
    assert job.returncode == 128 + sent


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_standard_streams(tmp_path, mark, closed):
    """They are as good as /dev/null, and no file of the launcher gets their numbers."""
    (tmp_path / "prog.py").write_text(f"print('out'); open({str(tmp_path / 'done')!r}, 'a').write('x')")

    def prepare():
        for stream in closed:
            os.close(stream)

    done = prepared(prepare, "-n", "2", str(tmp_path / "prog.py"))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ([] if 1 in closed else ["[0] out", "[1] out"])
    assert (tmp_path / "done").read_text() == "xx"


def can_unshare(*options):
    return not subprocess.run(["unshare", *options, "true"], capture_output=True).returncode


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)"])
@pytest.mark.parametrize("apart", [[], ["unshare", "-pf"]], ids=["here", "namespace"])
def test_children_of_pes_end_too(tmp_path, mark, apart, end):
    """In another namespace by their own numbers; the processes that have these numbers elsewhere live on."""
    if apart and not can_unshare("-pf"):
        pytest.skip("this user may not create namespaces")
    (tmp_path / "prog.py").write_text(HEAD + CHILDREN + end)
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(running("sleep", "60")) for _ in range(3)]
        done = run_command([*apart, *RUN, "-n", "2", str(tmp_path / "prog.py")])
        assert done.returncode == (3 if "exit" in end else 0), done
        assert [other.poll() for other in others] == [None] * 3
        assert set(processes(mark)) == {other.pid for other in others}


@contextlib.contextmanager
def running(*command):
    """Run a command until the end of a block."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_process_is_proven_to_be_a_child():
    with running("sleep", "60") as child:
        assert child.pid in common_processes.children()
        assert common_processes.is_child(child.pid)
        assert not any(common_processes.is_child(other) for other in (os.getpid(), os.getppid(), 1))
    assert not common_processes.is_child(child.pid)


def limited(limit, value):
    return lambda: resource.setrlimit(limit, (value, value))


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (limited(resource.RLIMIT_FSIZE, 1024), "a file, shared memory too, may have 1024 bytes (see ulimit -f)"),
        (limited(resource.RLIMIT_NOFILE, 12), "a process may open 12 files (see ulimit -Hn)"),
        (lambda: deny(MEMFD_CREATE), "forbids memfd_create"),
        (lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1), "cannot write to standard output: No space left"),
    ],
    ids=["file size", "open files", "memfd_create", "full output"],
)
def test_limits_of_the_system_are_named(mark, prepare, words):
    """What could not be done, why, and where it is changed: no bare error of the system, and no traceback."""
    done = prepared(prepare, "-n", "2", "-c", "import os; os.write(1, b'up\\n')")
    assert done.returncode in (1, 2), done
    assert words in done.stderr
    assert re.match("ishmem run: cannot (make|start|write)", done.stderr.splitlines()[0])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread"), OSError(errno.ENOMEM, "no")])
def test_want_of_memory_names_the_limit(error):
    assert "(see ulimit -v)" in limits.advice(error)
    assert not limits.advice(RuntimeError("another"))


def test_working_folder_that_was_removed(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    enter = lambda: (os.chdir(gone), gone.rmdir())  # noqa: E731
    (tmp_path / "prog.py").write_text("import ishmem\nishmem.init()")
    for command in ([*RUN, "-n", "2", "-c", "pass"], [sys.executable, str(tmp_path / "prog.py")]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=enter)
        assert done.returncode in (1, 2)
        assert "the working folder of this process was removed" in done.stderr.splitlines()[-1]
        gone.mkdir()


JOINS = "import ishmem\nwith ishmem.init(): print(ishmem.n_pes())"


def test_pes_that_have_lost_their_variables(mark):
    """A PE that would be a job of its own is told, unless the job has one PE; a child of a PE may be such a job."""
    clean = ["env", "-i", "ISHMEM_DEVICE=sim", f"TEST_MARK={mark}", sys.executable, "-c", JOINS]
    for command in (clean, ["sh", "-c", shlex.join(clean) + "; exit $?"]):
        done = run_command([*RUN, "-n", "2", *command])
        assert done.returncode == 1, done
        assert "as one of 2 PEs, but ISHMEM_PE, ISHMEM_NPES and ISHMEM_JOB are not in its environment" in done.stderr
    assert run_command([*RUN, "-n", "1", *clean]).stdout == "[0] 1\n"
    child = f"import ishmem, subprocess\nwith ishmem.init(): subprocess.run({clean}, check=True)"
    done = run_command([*RUN, "-n", "2", "-c", child])
    assert sorted(done.stdout.splitlines()) == ["[0] 1", "[1] 1"], done
    assert run_command([*RUN, "-n", "2", "env", "-i", "echo", "no SHMEM"]).returncode == 0


def test_pes_in_other_network_namespaces(mark):
    if not can_unshare("-n"):
        pytest.skip("this user may not create namespaces")
    done = run_command([*RUN, "-n", "2", "unshare", "-n", sys.executable, "-c", JOINS])
    assert done.returncode == 1
    assert "is in another network namespace" in done.stderr
    assert run_command([*RUN, "-n", "1", "unshare", "-n", sys.executable, "-c", JOINS]).returncode == 0
