"""Clusters whose agents mpirun starts, of OpenMPI and of MPICH, on hosts that share no file. Skipped where those cannot be made
(they need root), or where there is no MPI."""

import shutil

from engines import *


class Mpi(EngineTest):
    kind = own_hosts.SshHosts
    daemons = ("sshd",)

    class run_kind(Run):
        def __init__(self, hosts, spec, host):
            # Root starts all here.
            super().__init__(hosts, spec, host, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def with_mpi(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")
        hosts = self.own_hosts(3)
        # What mpirun reaches hosts by.
        hosts.path(1, "/root/.ssh/config").write_text(
            f"Host *\n  IdentityFile {hosts.keys}/user\n  IdentitiesOnly yes\n  BatchMode yes\n")
        return hosts

    def of(self, program, hosts, clocks, pause_us=0):
        named = {f"h{host}": {"address": hosts.address(host)} for host in hosts.all()}
        return self.spec(hosts, clocks, pause_us, engine="mpi", engine_program=program, hosts=named)

    def the_same_bits(self, program):
        hosts = self.with_mpi(program)
        expected = self.expected(hosts, 200)
        with self.subTest("nothing dies"):
            self.assert_well(self.launch(hosts, self.of(program, hosts, 200)), expected, hosts)
        with self.subTest("a shard dies"):
            self.clear(hosts)
            run = self.begun(hosts, self.of(program, hosts, 200, 10000))
            self.kill(hosts, run, "shard", 3)
            self.assert_well(run, expected, hosts)
        with self.subTest("an agent dies"):
            self.clear(hosts)
            run = self.begun(hosts, self.of(program, hosts, 200, 20000))
            self.kill_agent(hosts, 2)
            self.assert_well(run, expected, hosts)
            self.assertIn("h2", run.events("host_back"), run.account())
        with self.subTest("a host loses its power"):
            self.clear(hosts)
            run = self.begun(hosts, self.of(program, hosts, 200, 40000))
            hosts.lose_power(3)
            self.assert_well(run, expected, hosts, lost=[3])
            self.assertEqual(len(run.events("host_lost")), 1, run.account())

    def test_the_same_bits_by_open_mpi(self):
        self.the_same_bits("mpirun.openmpi")

    def test_the_same_bits_by_mpich(self):
        self.the_same_bits("mpirun.mpich")


if __name__ == "__main__":
    unittest.main(verbosity=2)
