"""Hosts on one machine that share neither a network stack, nor processes, nor files that are written after they are made:
namespaces of their own, on one bridge, and an overlay over this machine's root. Needs root.

    with OwnHosts(3, shared=["/some/folder"]) as hosts:
        hosts.run(2, ["hostname"])        # "h2"
        hosts.lose_power(2)               # nothing of it is left, and nothing said goodbye

All of it hangs on a process that ends when this one does: nothing is left, whatever happens."""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time

UP_SECONDS = 20

# Process 1 of a namespace: takes leave of orphans, and ends with its standard input.
INIT = """
import signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for ended in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(ended, signal.SIG_IGN)
sys.stdin.buffer.read()
"""
NAMESPACES = ["--net", "--uts", "--ipc", "--pid", "--mount", "--propagation", "private", "--fork", "--kill-child=KILL"]

ROOT = """
set -e
mount -t tmpfs tmpfs {base}
mkdir {base}/upper {base}/work {base}/root
mount -t overlay overlay -o lowerdir=/,upperdir={base}/upper,workdir={base}/work {base}/root
cd {base}/root
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
for folder in dev/shm tmp run; do mount -t tmpfs tmpfs $folder; done
chmod 1777 tmp dev/shm
{binds}
mkdir old
pivot_root . old
cd /
umount -l /old
rmdir /old
hostname {name}
printf '%s' {hosts} > /etc/hosts
: > /etc/resolv.conf
ip link set lo up
touch /run/ready
exec python3 -c {init}
"""


class NotHere(Exception):
    """This machine or user cannot make such hosts; the message says why."""


def output_of(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, check=False, **options)
    if done.returncode != 0:
        raise NotHere(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def child_of(pid):
    deadline = time.monotonic() + UP_SECONDS
    while time.monotonic() < deadline:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise TimeoutError("no process 1 of a namespace within time")


class OwnHosts:
    """Hosts count from 1: h1, h2, ..."""

    def __init__(self, count, shared=()):
        self.count = count
        self.shared = [str(folder) for folder in shared]
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-hosts-"))
        self.hub = None
        self.inits = {}

    def __enter__(self):
        if os.getuid() != 0:
            raise NotHere("needs root")
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *exception):
        self.remove()

    def address(self, host):
        return f"10.97.0.{host}"

    def make(self):
        # The pipe to its standard input is this process's alone.
        self.outer = subprocess.Popen(["unshare", *NAMESPACES, "--mount-proc", "python3", "-c", INIT], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.hub = child_of(self.outer.pid)
        self.at_hub(["ip", "link", "add", "bridge", "type", "bridge"])
        self.at_hub(["ip", "link", "set", "bridge", "up"])
        for host in self.all():
            self.make_host(host)
        deadline = time.monotonic() + UP_SECONDS
        while not all(self.path(host, "/run/ready").exists() and self.is_up(host) for host in self.all()):
            if time.monotonic() > deadline:
                raise TimeoutError("not up within time: " + "; ".join(log.read_text() for log in self.base.glob("*.log")))
            time.sleep(0.02)

    def all(self):
        return range(1, self.count + 1)

    def at_hub(self, command):
        return output_of(["nsenter", "-t", self.hub, "-n", *command])

    def make_host(self, host):
        name = f"h{host}"
        (self.base / name).mkdir()
        names = "127.0.0.1 localhost\n" + "".join(f"{self.address(other)} h{other}\n" for other in self.all())
        binds = "\n".join(f"mkdir -p .{folder} && mount --bind {folder} .{folder}" for folder in self.shared)
        script = ROOT.format(base=self.base / name, name=name, hosts=shlex.quote(names), binds=binds, init=shlex.quote(INIT))
        # Its standard input never ends: it ends with the hub, whose namespace of processes it is in.
        with open(self.base / f"{name}.log", "wb") as log:
            entered = subprocess.Popen(["nsenter", "-t", str(self.hub), "-n", "-m", "-u", "-i", "-p", "unshare", *NAMESPACES,
                                        "sh", "-c", script], stdin=subprocess.PIPE, stdout=log, stderr=log)
        self.entered = [*getattr(self, "entered", []), entered]
        self.inits[host] = child_of(child_of(entered.pid))
        self.at_hub(["ip", "link", "add", f"v{host}", "type", "veth", "peer", "name", "eth0", "netns", self.inits[host]])
        self.at_hub(["ip", "link", "set", f"v{host}", "master", "bridge", "up"])
        for words in (["address", "add", f"{self.address(host)}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            output_of(["nsenter", "-t", self.inits[host], "-n", "ip", *words])

    def is_up(self, host):
        return " state UP " in output_of(["nsenter", "-t", self.inits[host], "-n", "ip", "-o", "link", "show", "dev", "eth0"])

    def remove(self):
        if self.hub:
            os.kill(self.hub, 9)  # and with it all
            self.outer.stdin.close()
            self.outer.wait()
            for entered in getattr(self, "entered", []):
                entered.stdin.close()
                entered.wait()
        shutil.rmtree(self.base, ignore_errors=True)

    def path(self, host, path):
        """A file of that host, as this process reaches it."""
        return pathlib.Path(f"/proc/{self.inits[host]}/root{path}")

    def command(self, host, command, **variables):
        """The command line that runs this there, with an environment of its own."""
        settings = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                    **variables}
        return ["nsenter", "-t", str(self.inits[host]), "-m", "-u", "-i", "-n", "-p", "env", "-i",
                *(f"{name}={value}" for name, value in settings.items()), *map(str, command)]

    def run(self, host, command, **options):
        return output_of(self.command(host, command), **options)

    def processes(self, host):
        """The command lines of all that runs there, by pids of that host, but for process 1 and the one that looks."""
        lines = self.run(host, ["ps", "-e", "-o", "pid=,stat=,args="]).splitlines()
        rows = [line.split(None, 2) for line in lines]
        return {int(pid): command for pid, state, command in rows
                if int(pid) != 1 and not state.startswith("Z") and not command.startswith("ps -e ")}

    def cut(self, host):
        """No frame reaches it or leaves it, and nothing says so."""
        self.at_hub(["ip", "link", "set", f"v{host}", "nomaster"])

    def join(self, host):
        self.at_hub(["ip", "link", "set", f"v{host}", "master", "bridge"])

    def lose_power(self, host):
        self.cut(host)
        os.kill(self.inits[host], 9)


class SshHosts(OwnHosts):
    """With an OpenSSH server on each, which takes root's key of host 1; host 1 knows the keys of all."""

    def __enter__(self):
        for program in ("sshd", "ssh", "ssh-keygen"):
            if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
                raise NotHere(f"{program} is not installed (openssh-server, openssh-client)")
        self.keys = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-keys-"))
        self.shared = [*self.shared, str(self.keys)]
        return super().__enter__()

    def make(self):
        super().make()
        for name in ("user", *(f"h{host}" for host in self.all())):
            output_of(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.keys / name])
        known = "".join(f"h{host},{self.address(host)} {(self.keys / f'h{host}.pub').read_text().rsplit(' ', 1)[0]}\n"
                        for host in self.all())
        settings = [f"AuthorizedKeysFile {self.keys}/user.pub", "StrictModes no", "UsePAM no", "PermitRootLogin prohibit-password",
                    "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PrintMotd no", "UseDNS no", "PidFile none",
                    "MaxStartups 100:30:200"]
        (self.keys / "sshd_config").write_text("\n".join(settings) + "\n")
        for host in self.all():
            self.run(host, ["sh", "-c", "mkdir -p /run/sshd /root/.ssh && chmod 700 /root/.ssh"])
            self.run(host, ["/usr/sbin/sshd", "-f", self.keys / "sshd_config", "-h", self.keys / f"h{host}", "-E", "/run/sshd.log"])
        self.path(1, "/root/.ssh/known_hosts").write_text(known)

    def remove(self):
        super().remove()
        shutil.rmtree(self.keys, ignore_errors=True)


class SlurmHosts(OwnHosts):
    """Host 1 has Slurm's controller and submits; all others are nodes."""

    SETTINGS = """ClusterName=own
SlurmctldHost=h1({controller})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
MailProg=/bin/true
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=3
InactiveLimit=0
MessageTimeout=10
JobRequeue=0
NodeName=h[2-{count}] CPUs=8 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=h[2-{count}] Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
"""

    def __enter__(self):
        for program in ("munged", "slurmctld", "slurmd", "sbatch"):
            if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
                raise NotHere(f"{program} is not installed (munge, slurmctld, slurmd, slurm-client)")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-slurm-"))
        self.shared = [*self.shared, str(self.folder)]
        self.slurm = {}
        return super().__enter__()

    def command(self, host, command, **variables):
        return super().command(host, command, SLURM_CONF=self.folder / "slurm.conf", **variables)

    def make(self):
        super().make()
        (self.folder / "slurm.conf").write_text(self.SETTINGS.format(controller=self.address(1), count=self.count))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n")
        for host in self.all():
            self.run(host, ["sh", "-c", "mkdir -p /run/munge /var/spool/slurmctld /var/spool/slurmd && chown munge: /run/munge && "
                                        "setpriv --reuid munge --regid munge --clear-groups /usr/sbin/munged"])
        self.run(1, ["sh", "-c", "setsid /usr/sbin/slurmctld -D -i </dev/null >/run/slurmctld.log 2>&1 &"])
        for host in list(self.all())[1:]:
            self.run(host, ["sh", "-c", "setsid /usr/sbin/slurmd -D </dev/null >/run/slurmd.log 2>&1 &"])
        deadline = time.monotonic() + UP_SECONDS
        while self.idle() != self.count - 1:
            if time.monotonic() > deadline:
                raise TimeoutError("nodes of Slurm are not idle within time: " + self.path(1, "/run/slurmctld.log").read_text()[-2000:])
            time.sleep(0.1)

    def idle(self):
        try:
            return int(self.run(1, ["sinfo", "-h", "-t", "idle", "-o", "%D"]) or 0)
        except (NotHere, ValueError):
            return 0  # the controller does not answer yet

    def remove(self):
        super().remove()
        shutil.rmtree(self.folder, ignore_errors=True)


class RayHosts(OwnHosts):
    """A cluster of Ray: its head on host 1, and a raylet on each. `python`: one that has ray."""

    HEALTH = {"RAY_health_check_initial_delay_ms": 0, "RAY_health_check_period_ms": 1000, "RAY_health_check_timeout_ms": 2000,
              "RAY_health_check_failure_threshold": 3, "RAY_USAGE_STATS_ENABLED": 0, "RAY_DISABLE_IMPORT_WARNING": 1}
    python = os.environ.get("TIDEGATE_RAY_PYTHON", "")
    package = ""  # the folder that has the package tidegate

    def __enter__(self):
        if not self.python:
            raise NotHere("no Python with ray is named (TIDEGATE_RAY_PYTHON)")
        return super().__enter__()

    def command(self, host, command, **variables):
        # Nothing is written beside sources: the files below the hosts' own must not change.
        return super().command(host, command, **self.HEALTH, PYTHONPATH=self.package, PYTHONDONTWRITEBYTECODE=1, **variables)

    def make(self):
        super().make()
        ray = str(pathlib.Path(self.python).with_name("ray"))
        common = ["--num-cpus=1", "--num-gpus=0", "--object-store-memory=80000000", "--disable-usage-stats"]
        self.run(1, [ray, "start", "--head", f"--node-ip-address={self.address(1)}", "--port=6379", "--include-dashboard=false",
                     *common])
        for host in list(self.all())[1:]:
            self.run(host, [ray, "start", f"--address={self.address(1)}:6379", f"--node-ip-address={self.address(host)}", *common])
