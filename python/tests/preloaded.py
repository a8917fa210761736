"""Python processes that have imported what takes long before they begin.

To import torch takes three seconds of a processor, and tests start a hundred workers that do it. `interpreter` gives
them a program in place of sys.executable, for ``-m MODULE [ARGUMENT ...]`` and ``SCRIPT [ARGUMENT ...]``. A process of
it asks a template, which has imported the modules, for a copy (os.fork), gives it its environment, its working folder and
its open files, and ends as the copy ends, by the same signal; the copy dies with it. What the state of numpy.random was
when it was imported is the same in all copies.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

_FDS_MAX = 64
_REQUEST_BYTES_MAX = 1 << 20
_MOVED_FDS = 1000  # from here on: above what a process has open


@contextlib.contextmanager
def interpreter(folder: Path, *modules: str) -> Iterator[str]:
    """Yields the path of the program; it is in the folder, and works as long as the block lasts."""
    import subprocess

    place, program = str(folder / "template"), folder / "python"
    program.write_text(f"#!{sys.executable} -ISB\nimport sys\nsys.path.insert(0, {os.path.dirname(__file__)!r})\n"
                       f"import preloaded\npreloaded.ask({place!r}, {sys.executable!r})\n")
    program.chmod(0o755)
    template = subprocess.Popen([sys.executable, "-B", __file__, place, *modules], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
    try:
        assert template.stdout is not None and template.stdout.readline() == b"ready\n"
        yield str(program)
    finally:
        template.communicate()  # which ends it
    assert template.returncode == 0


def ask(place: str, plain: str) -> None:
    """What the program does. With other options it is the plain interpreter."""
    import json

    arguments = sys.argv[1:]
    if not arguments or (arguments[0].startswith("-") and arguments[0] != "-m"):
        os.execv(plain, [plain, *arguments])
    fds = [int(name) for name in os.listdir("/proc/self/fd")]
    fds = [fd for fd in fds if os.path.exists(f"/proc/self/fd/{fd}")]  # without that of the folder
    request = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd(), "fds": fds})
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _REQUEST_BYTES_MAX)
        asked.connect(place)
        socket.send_fds(asked, [request.encode()], fds)
        for fd in fds:
            os.close(fd)  # they are the copy's: who reads from a pipe must see when it closes it
        answer = asked.recv(16)
    status = int(answer) if answer else 1 << 8
    if os.WIFSIGNALED(status):
        import resource
        import signal

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _end_with_parent(parent: int) -> None:
    import ctypes
    import signal

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _copy_for(asked: socket.socket) -> Callable[[], Any]:
    """Returns in a copy that is what was asked for. The process itself watches over it and ends with it."""
    import atexit
    import fcntl
    import json
    import select
    import signal

    text, received, _, _ = socket.recv_fds(asked, _REQUEST_BYTES_MAX, _FDS_MAX)
    if not text:
        os._exit(0)
    request = json.loads(text)
    watcher = os.getpid()
    copy = os.fork()
    if copy != 0:
        for fd in received:
            os.close(fd)
        os.close(1)
        pid_fd = os.pidfd_open(copy)
        watched = select.poll()
        watched.register(pid_fd, select.POLLIN)
        watched.register(asked, select.POLLIN)  # nothing is said: it has ended
        if any(fd == asked.fileno() for fd, _ in watched.poll()):
            os.kill(copy, signal.SIGKILL)
        os.waitid(os.P_PID, copy, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(copy, signal.SIGKILL)  # what it has left, as its launcher would
        _, status = os.waitpid(copy, 0)
        with contextlib.suppress(OSError):
            asked.send(str(status).encode())
        os._exit(0)
    os.setpgid(0, 0)
    _end_with_parent(watcher)
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _MOVED_FDS) for fd in received]
    for fd in [asked.detach(), *received]:
        os.close(fd)
    for fd, number in zip(moved, request["fds"], strict=True):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    atexit.register(_keep_modules)
    return _program_of(request["arguments"])


def _keep_modules() -> None:
    """Leaves what others have written as it is when the copy ends: to take it to pieces takes half a second."""
    import ctypes

    own = {*sys.stdlib_module_names, "__main__", "tidegate"}
    kept = [sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] not in own]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _program_of(arguments: list[str]) -> Callable[[], Any]:
    import runpy

    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        sys.path[0] = os.getcwd()
        return lambda: runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    sys.argv[:] = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    return lambda: runpy.run_path(arguments[0], run_name="__main__")


def _serve(place: str, modules: list[str]) -> Optional[Callable[[], Any]]:
    """Makes copies until nobody needs them: returns nothing then, and in a copy its program."""
    import gc
    import importlib
    import select
    import signal

    # For copies: they import what their tests come from, and what a program is made of.
    for name in ("ctypes", "fcntl", "json", "runpy", *modules):
        importlib.import_module(name)
    gc.freeze()  # no copy goes through what it has from here
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(place)
    listening.listen(64)
    template = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for watchers
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([0, listening], [], [])
        if 0 in ready:
            return None
        asked, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _end_with_parent(template)
            listening.close()
            return _copy_for(asked)
        asked.close()


if __name__ == "__main__":
    program = _serve(sys.argv[1], sys.argv[2:])
    if program is not None:
        program()
