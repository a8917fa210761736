"""Clusters on nodes of Ray, launched by tidegate.ray.launch: a head and raylets on hosts that share no file. Skipped where those
cannot be made (they need root), or where there is no ray."""

import sys

from engines import *

LAUNCH = """
import sys
import ray
import tidegate
import tidegate.ray

ray.init(address="{address}:6379", _node_ip_address="{address}", log_to_driver=False)
try:
    result = tidegate.ray.launch(sys.argv[1], nodes={nodes}, run_dir=sys.argv[2], timeout=10)
except tidegate.LaunchError as error:
    print(error, flush=True)
    sys.exit(error.exit_code)
except tidegate.TidegateError as error:
    print(f"{{type(error).__name__}}: {{error}}", flush=True)
    sys.exit(2)
print(result.parameters_sha256, flush=True)
"""


class RayRun(Run):
    """A program in Python that launches on all nodes."""

    def start(self, command):
        if "ray" not in json.loads(self.hosts.path(self.host, "/tmp/cluster.yaml").read_text())["cluster"].get("engine", ""):
            return super().start(command)
        self.hosts.path(self.host, "/tmp/launch.py").write_text(LAUNCH.format(
            address=self.hosts.address(self.host), nodes=self.hosts.wanted))
        return super().start([self.hosts.python, "/tmp/launch.py", "/tmp/cluster.yaml", "/tmp/run"])


class RayHosts(own_hosts.RayHosts):
    wanted = None  # nodes; all of them
    package = str(pathlib.Path(BIN).parent / "python-package")


class Ray(EngineTest):
    kind = RayHosts
    daemons = ("ray/core/", "ray/_private/", "ray/dashboard/", "ray/autoscaler/", "ray::IDLE", "ray::DashboardAgent", "ray::RuntimeEnvAgent")
    run_kind = RayRun

    def kill_actor(self, hosts, host):
        actor = next(pid for pid, command in hosts.processes(host).items() if command.startswith("ray::AgentHolder"))
        hosts.run(host, ["kill", "-9", actor])

    def assert_nothing_left(self, hosts, lost=()):
        self.assert_nothing_runs(hosts, lost)
        for host in hosts.all():
            if host not in lost:
                self.assertEqual(list(hosts.path(host, "/tmp").glob("tidegate-0/*")), [], f"h{host}")

    def test_the_same_bits_on_nodes_of_ray_whatever_dies(self):
        hosts = self.own_hosts(3)
        expected = self.expected(hosts, 200)
        with self.subTest("nothing dies"):
            run = self.launch(hosts, self.spec(hosts, 200, engine="ray"))
            self.assert_well(run, expected, hosts)
        with self.subTest("a worker dies"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 200, 10000, engine="ray"))
            self.assertEqual({process.get("host") for process in run.listed()}, {None, "h2", "h3"})
            self.kill(hosts, run, "worker", 3)
            self.assert_well(run, expected, hosts)
        for victim, kill, host in (("an agent", self.kill_agent, 2), ("an actor", self.kill_actor, 3)):
            with self.subTest(f"{victim} dies"):
                self.clear(hosts)
                run = self.begun(hosts, self.spec(hosts, 200, 40000, engine="ray"))
                kill(hosts, host)
                # The next agent finds what one that was killed has left, and takes it along in the end.
                wait_until(lambda: f"h{host}" in run.events("host_back"), 30, run.account)
                self.assert_well(run, expected, hosts)
        with self.subTest("the program that launches is killed"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 100000, 1000, engine="ray"))
            program = next(pid for pid, command in hosts.processes(1).items() if "/tmp/launch.py" in command)
            hosts.run(1, ["kill", "-9", program])
            self.assert_nothing_runs(hosts)
            run.process.wait(timeout=10)
            for host in hosts.all():  # folders of runs that nobody goes on with
                hosts.run(host, ["rm", "-rf", "/tmp/tidegate-0"])
        with self.subTest("a node loses its power"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 200, 40000, engine="ray"))
            hosts.lose_power(3)
            self.assert_well(run, expected, hosts, lost=[3])
            self.assertEqual(len(run.events("host_lost")), 1, run.account())

    def test_a_cluster_of_one_node_and_nodes_that_are_not_there(self):
        hosts = self.own_hosts(1)
        expected = self.expected(hosts, 50)
        run = self.launch(hosts, self.spec(hosts, 50, engine="ray", replicas=0))
        self.assert_well(run, expected, hosts)
        self.clear(hosts)
        hosts.wanted = 2
        run = self.launch(hosts, self.spec(hosts, 50, engine="ray", replicas=0))
        self.assertEqual(run.wait(60), 2, run.output)
        self.assertIn("UnavailableError: Ray has not given 2 nodes with {'CPU': 1.0} each within 10 s", run.output)
        self.assertIn("it has 1 nodes", run.output)

    def test_another_way_to_launch_it_is_told(self):
        hosts = own_hosts.OwnHosts(1)
        try:
            hosts.__enter__()
        except own_hosts.NotHere as why:
            self.skipTest(str(why))
        self.addCleanup(hosts.remove)
        run = Run(hosts, self.spec(hosts, 10, engine="ray"), 1)
        self.assertEqual(run.wait(20), 2, run.output)
        self.assertIn('launch it from Python, with tidegate.ray.launch("cluster.yaml")', run.output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
