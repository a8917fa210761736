"""Processes that are copies of a template end and live as processes that are started do."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Iterator

import preloaded
import pytest


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with preloaded.interpreter(tmp_path_factory.mktemp("preloaded"), "colorsys") as program:
        yield program


def test_a_script_has_its_arguments_environment_folder_and_files(python: str, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("name = 'beside'")
    (tmp_path / "script.py").write_text(
        "import beside, os, sys\n"
        "print(beside.name, __name__, sys.argv[1:], os.environ['SAID'], os.getcwd(), 'colorsys' in sys.modules, flush=True)\n"
        "os.write(int(os.environ['PIPE']), b'through a pipe')\n"
        "sys.exit(7)\n")
    reads, writes = os.pipe()
    ran = subprocess.run([python, str(tmp_path / "script.py"), "a", "b"], cwd="/", capture_output=True, text=True, pass_fds=[writes],
                         env={**os.environ, "SAID": "hello", "PIPE": str(writes)})
    os.close(writes)
    assert ran.returncode == 7
    assert ran.stdout == "beside __main__ ['a', 'b'] hello / True\n"
    with os.fdopen(reads) as pipe:
        assert pipe.read() == "through a pipe"


def test_a_module_runs_and_other_options_are_those_of_python(python: str) -> None:
    assert subprocess.run([python, "-m", "base64", "-t"], capture_output=True, check=True).stdout.startswith(b"b'Aladdin")
    plain = subprocess.run([python, "-c", "import sys; print('colorsys' in sys.modules)"], capture_output=True, check=True)
    assert plain.stdout == b"False\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_it_ends_as_its_copy_ends(python: str, tmp_path: Path, number: int) -> None:
    (tmp_path / "script.py").write_text(f"import os\nos.kill(os.getpid(), {int(number)})\n")
    assert subprocess.run([python, str(tmp_path / "script.py")]).returncode == -number


def test_its_copy_and_what_that_has_started_die_with_it(python: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os, signal\nos.fork()\nos.write(1, b'%d\\n' % os.getpid())\nsignal.pause()\n")
    process = subprocess.Popen([python, str(tmp_path / "script.py")], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        pid_fds = [os.pidfd_open(int(process.stdout.readline())) for _ in range(2)]
    finally:
        process.kill()
        process.communicate()
    for pid_fd in pid_fds:
        assert select.select([pid_fd], [], [], 30)[0]
        os.close(pid_fd)


def test_all_copies_die_with_the_template(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os, signal\nos.write(1, b'%d\\n' % os.getpid())\nsignal.pause()\n")
    with preloaded.interpreter(tmp_path) as python:
        process = subprocess.Popen([python, str(tmp_path / "script.py")], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        pid_fd = os.pidfd_open(int(process.stdout.readline()))
    assert select.select([pid_fd], [], [], 30)[0]
    assert process.wait(30) == 1
    process.stdout.close()
    os.close(pid_fd)
