"""The wheel that users get: its tag, and that every Python here takes it."""

from __future__ import annotations

import glob
import os
import re
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
import tidegate

HERE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("wheelhouse")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([HERE / "scripts/wheel", "--from", os.environ["TIDEGATE_BUILD"], "--output", output], check=True,
                   env=environment)
    return next(output.glob("*.whl"))


def interpreters() -> Iterator[tuple[str, str]]:
    """Yields the version and the path of each CPython from 3.10 on, one of a minor version."""
    seen: set[str] = set()
    folders = [*os.environ["PATH"].split(os.pathsep), *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))]
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "python3.[0-9][0-9]"))):
            probe = "import sys, sysconfig; print(sys.implementation.name, *sys.version_info[:2], " \
                    "sysconfig.get_config_var('Py_GIL_DISABLED') or 0)"
            said = subprocess.run([path, "-c", probe], capture_output=True, text=True)
            name, major, minor, free_threaded = (said.stdout.split() + [""] * 4)[:4]
            version = f"{major}.{minor}"
            if said.returncode == 0 and name == "cpython" and int(minor) >= 10 and free_threaded == "0" and \
                    version not in seen:
                seen.add(version)
                yield version, path


def test_one_wheel_is_for_every_python(wheel: Path) -> None:
    assert re.fullmatch(rf"tidegate-{re.escape(tidegate.__version__)}-cp310-abi3-manylinux_2_\d+_x86_64\.whl",
                        wheel.name)
    listed = subprocess.run(["unzip", "-Z1", wheel], capture_output=True, text=True).stdout or \
        "\n".join(__import__("zipfile").ZipFile(wheel).namelist())
    for name in ("tidegate/_native.abi3.so", "tidegate/bin/tidegate", "tidegate/py.typed", "tidegate/_native.pyi"):
        assert name in listed.splitlines()
    for library in ("libcaf_core", "libcaf_io", "libucp", "libuct", "libucs", "libucm", "ucx/libuct_ib"):
        assert f"tidegate.libs/{library}" in listed


def install(python: str, wheel: Path, environment: Path) -> None:
    """Makes an environment of this Python with the wheel. Its own pip installs where that can: most of the time would go
    into a pip of the environment."""
    has_pip = "--python" in subprocess.run([python, "-m", "pip", "--help"], capture_output=True, text=True).stdout
    subprocess.run([python, "-m", "venv", *(["--without-pip"] if has_pip else []), environment], check=True)
    inside = environment / "bin/python"
    pip = [python, "-m", "pip", "--python", inside] if has_pip else [inside, "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "--no-compile", "--disable-pip-version-check", wheel], check=True)


def test_every_python_here_imports_it(wheel: Path, tmp_path: Path) -> None:
    tried = []
    for version, path in interpreters():
        environment = tmp_path / version
        install(path, wheel, environment)
        python = environment / "bin/python"
        said = subprocess.run([python, "-I", "-c", "import tidegate, tidegate._native as n; tidegate.Session; "
                               "print(n.__file__)"], check=True, capture_output=True, text=True)
        assert said.stdout.strip().startswith(str(environment))
        tried.append(version)
    assert tried
    print("imported by", *tried)
