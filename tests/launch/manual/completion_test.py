#!/usr/bin/env python3
"""Types command lines into bash, zsh and fish, presses Tab, and looks at what a user would see.

usage: completion_test.py TIDEGATE
"""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import unittest

TIDEGATE = ""
SECONDS_MAX = 60  # until a shell answers; only a failure waits so long

# What a line is after Tab: its words, as a command would get them.
SHOW = r"""show() { printf '@begin'; printf '<%s>' "$@"; printf '@end\n'; }"""
BASH = f"""
source <(tidegate completion bash)
bind 'set bell-style none'
bind 'set show-all-if-ambiguous on'
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
PS1='$ '
{SHOW}
printf '@ready\\n'
"""
ZSH = f"""
autoload -Uz compinit && compinit -D -u
source <(tidegate completion zsh)
bindkey -e
unsetopt beep prompt_sp auto_remove_slash list_ambiguous
LISTMAX=1000
PROMPT='% '
{SHOW}
printf '@ready\\n'
"""
CLUSTER = """\
cluster: {name: c}
jobs:
  mlp: {command: x, tables: {fc1.weight: {shape: [2]}}}
"""


def make_world(folder: pathlib.Path) -> None:
    (folder / "c.yaml").write_text(CLUSTER)
    (folder / "plain").mkdir()
    for name in ("mnist-1", "mnist-2"):
        run = folder / "runs" / name
        (run / "logs").mkdir(parents=True)
        for file in ("cluster.yaml", "events.jsonl", "logs/shard-0.log", "logs/worker-mlp-0.log"):
            (run / file).write_text("")
    (folder / "runs" / "no-run").mkdir()


def environment(folder: pathlib.Path) -> dict[str, str]:
    path = f"{pathlib.Path(TIDEGATE).parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(folder), "ZDOTDIR": str(folder), "TERM": "vt100", "LC_ALL": "C.UTF-8"}


class Shell:
    """An interactive shell at a terminal."""

    def __init__(self, command: list[str], folder: pathlib.Path):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment(folder))
        termios.tcsetwinsize(self.terminal, (100, 200))
        self.read_until(b"@ready")

    def read_until(self, mark: bytes) -> str:
        text = b""
        while mark not in text:
            ready, _, _ = select.select([self.terminal], [], [], SECONDS_MAX)
            if not ready:
                raise AssertionError(f"no {mark!r} in {text!r}")
            text += os.read(self.terminal, 65536)
        return text.decode(errors="replace")

    def press_tab(self, line: str) -> tuple[list[str], str]:
        """The words of the line after Tab, and all that was on the terminal."""
        # Ctrl-A goes to the line's begin, where the command is put that shows its words.
        os.write(self.terminal, (line + "\t\x01show \r").encode())
        seen = self.read_until(b"@end")
        shown = re.search(r"@begin(.*)@end", seen, re.DOTALL)
        assert shown is not None, seen
        return re.findall(r"<(.*?)>", shown[1]), seen

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class AtATerminal:
    """What bash and zsh have in common."""

    command: list[str] = []
    rc = ("", "")

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-completion-"))
        make_world(cls.folder)
        (cls.folder / cls.rc[0]).write_text(cls.rc[1])
        cls.shell = Shell([word.format(rc=cls.folder / cls.rc[0]) for word in cls.command], cls.folder)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.shell.end()
        shutil.rmtree(cls.folder)

    def completes(self, line: str, *words: str) -> None:
        self.assertEqual(self.shell.press_tab(line)[0], ["tidegate", *words], line)

    def lists(self, line: str, *words: str) -> None:
        seen = self.shell.press_tab(line)[1]
        for word in words:
            self.assertIn(word, seen, line)

    def test_commands(self) -> None:
        self.completes("tidegate lau", "launch")
        self.completes("tidegate bench roo", "bench", "roofline")
        self.completes("tidegate help completi", "help", "completion")
        self.lists("tidegate s", "status", "stop", "scale", "submit", "simulate")

    def test_options(self) -> None:
        self.completes("tidegate launch c.yaml --run-dir-", "launch", "c.yaml", "--run-dir-file")
        self.completes("tidegate logs --fol", "logs", "--follow")
        self.lists("tidegate bench rows --d", "--dim", "--distribution")

    def test_run_folders(self) -> None:
        self.completes("tidegate status runs/mnist-", "status", "runs/mnist-")
        self.lists("tidegate status runs/mnist-", "runs/mnist-1", "runs/mnist-2")
        self.completes("tidegate top runs/mnist-2", "top", "runs/mnist-2")
        self.completes("tidegate launch --resume=runs/mnist-1", "launch", "--resume=runs/mnist-1")
        seen = self.shell.press_tab("tidegate status runs/")[1]
        self.assertNotIn("no-run", seen, "no run has begun there")

    def test_processes(self) -> None:
        self.completes("tidegate logs runs/mnist-1 wor", "logs", "runs/mnist-1", "worker-mlp-0")
        self.completes("tidegate chaos runs/mnist-1 kill sh", "chaos", "runs/mnist-1", "kill", "shard-0")
        self.completes("tidegate chaos runs/mnist-1 parti", "chaos", "runs/mnist-1", "partition")

    def test_keys(self) -> None:
        self.completes("tidegate help yaml stalen", "help", "yaml", "staleness")
        self.completes("tidegate help yaml cluster.eng", "help", "yaml", "cluster.engine")
        self.completes("tidegate plan c.yaml --set clus", "plan", "c.yaml", "--set", "cluster.")
        self.completes("tidegate plan c.yaml --set jobs.mlp.consistency.pol", "plan", "c.yaml", "--set",
                       "jobs.mlp.consistency.policy=")
        self.completes("tidegate plan c.yaml --set=jobs.mlp.consistency.policy=as", "plan", "c.yaml",
                       "--set=jobs.mlp.consistency.policy=async")
        self.completes("tidegate plan c.yaml --set jobs.", "plan", "c.yaml", "--set", "jobs.mlp.")

    def test_files(self) -> None:
        self.completes("tidegate launch c.y", "launch", "c.yaml")
        self.completes("tidegate launch c.yaml --run-dir pla", "launch", "c.yaml", "--run-dir", "plain/")
        self.completes("tidegate launch c.yaml --run-dir=pla", "launch", "c.yaml", "--run-dir=plain/")


class Bash(AtATerminal, unittest.TestCase):
    command = ["bash", "--noprofile", "--rcfile", "{rc}", "-i"]
    rc = (".bashrc", BASH)


class Zsh(AtATerminal, unittest.TestCase):
    command = ["zsh", "-d", "-i"]
    rc = (".zshrc", ZSH)

    def test_says_what_they_are(self) -> None:
        self.lists("tidegate lo", "logs")
        self.lists("tidegate l", "launch", "-- run it: coordinator, shards, aggregators and workers")


class Fish(unittest.TestCase):
    """Fish says itself what it would offer, with what each is."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-completion-"))
        make_world(self.folder)

    def tearDown(self) -> None:
        shutil.rmtree(self.folder)

    def offers(self, line: str) -> dict[str, str]:
        script = f"tidegate completion fish | source; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.folder, text=True, check=True,
                              env=environment(self.folder), capture_output=True, timeout=SECONDS_MAX)
        self.assertEqual(done.stderr, "")
        return dict(row.split("\t", 1) if "\t" in row else (row, "") for row in done.stdout.splitlines())

    def test_all_of_it(self) -> None:
        self.assertEqual(self.offers("tidegate lau"), {"launch": "run it: coordinator, shards, aggregators and workers"})
        self.assertIn("status", self.offers("tidegate "))
        self.assertEqual(list(self.offers("tidegate logs --fol")), ["--follow"])
        self.assertEqual(list(self.offers("tidegate status ru")), ["runs/mnist-1", "runs/mnist-2"])
        self.assertEqual(list(self.offers("tidegate logs runs/mnist-1 ")), ["shard-0", "worker-mlp-0"])
        self.assertIn("staleness", self.offers("tidegate help yaml stale"))
        self.assertEqual(list(self.offers("tidegate plan c.yaml --set jobs.")), ["jobs.mlp."])
        self.assertEqual(list(self.offers("tidegate plan c.yaml --set=jobs.mlp.consistency.policy=as")),
                         ["--set=jobs.mlp.consistency.policy=async"])
        self.assertIn("c.yaml", self.offers("tidegate launch c"))
        self.assertIn("--run-dir=plain/", self.offers("tidegate launch --run-dir=pl"))


if __name__ == "__main__":
    TIDEGATE = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
