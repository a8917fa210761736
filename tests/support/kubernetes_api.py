"""Kubernetes on hosts of this machine (own_hosts.py): the API is a server that plays it (kmock), spoken to with the real client;
what controllers and kubelets would do is done here, for as much as `tidegate render kubernetes` uses. Each host is a node that
takes one pod. No real cluster is anywhere near: what is tried is that these objects, carried out, are a Tidegate cluster."""

import asyncio
import contextlib
import os
import pathlib
import subprocess
import threading
import time

import kmock
import kubernetes.client

GROUP, VERSION, PLURAL = "jobset.x-k8s.io", "v1alpha2", "jobsets"
SPACE = "default"
TURN_SECONDS = 0.05
NAMED_AFTER_SECONDS = 1  # a pod is known by its name some time after it runs
START_SECONDS = 20


class Api:
    """A server that has the objects, and clients of it."""

    def __init__(self):
        self._begun = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        assert self._begun.wait(START_SECONDS), "the server of the API has not begun"
        client = kubernetes.client.ApiClient(kubernetes.client.Configuration(host=self._url))
        self.core = kubernetes.client.CoreV1Api(client)
        self.batch = kubernetes.client.BatchV1Api(client)
        self.network = kubernetes.client.NetworkingV1Api(client)
        self.policy = kubernetes.client.PolicyV1Api(client)
        self.custom = kubernetes.client.CustomObjectsApi(client)

    async def _serve(self):
        emulator = kmock.KubernetesEmulator()
        emulator.resources.load_bundled()
        emulator.resources[f"{GROUP}/{VERSION}/{PLURAL}"] = {
            "kind": "JobSet", "singular": "jobset", "namespaced": True,
            "verbs": {"create", "get", "list", "watch", "patch", "update", "delete"}}
        async with emulator, kmock.Server(emulator, host="127.0.0.1", port=0) as server:
            self._url = str(server.url).rstrip("/")
            self._begun.set()
            await asyncio.Event().wait()

    def apply(self, objects):
        create = {"ConfigMap": self.core.create_namespaced_config_map, "Secret": self.core.create_namespaced_secret,
                  "Service": self.core.create_namespaced_service, "NetworkPolicy": self.network.create_namespaced_network_policy,
                  "PodDisruptionBudget": self.policy.create_namespaced_pod_disruption_budget}
        for each in objects:
            if each["kind"] == "JobSet":
                self.custom.create_namespaced_custom_object(GROUP, VERSION, SPACE, PLURAL, each)
            else:
                create[each["kind"]](SPACE, each)

    def job_set(self, name):
        return self.custom.get_namespaced_custom_object(GROUP, VERSION, SPACE, PLURAL, name)


def jobs_of(job_set):
    """The jobs that the controller of JobSets makes, as objects of batch/v1."""
    name = job_set["metadata"]["name"]
    for part in job_set["spec"]["replicatedJobs"]:
        for number in range(part["replicas"]):
            labels = {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": part["name"]}
            yield {"apiVersion": "batch/v1", "kind": "Job",
                   "metadata": {"name": f"{name}-{part['name']}-{number}", "labels": labels}, "spec": part["template"]["spec"]}


class Pod:
    """A pod, on its node, with its one container."""

    def __init__(self, job, index, tries, job_set):
        self.job, self.index, self.job_set = job, index, job_set
        self.hostname = f"{job['metadata']['name']}-{index}"
        self.name = f"{self.hostname}-try{tries}"
        self.spec = job["spec"]["template"]["spec"]
        self.node = self.process = None
        self.restarts = 0
        self.began = None
        self.is_evicted = self.is_over = False

    @property
    def object(self):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name, "labels": self.job["metadata"]["labels"]},
                "spec": {**self.spec, "hostname": self.hostname, "subdomain": self.job_set}}


class Kubernetes:
    """Controllers and kubelets, in a thread. `path`: the PATH that the image has."""

    def __init__(self, hosts, api, name, path):
        self.hosts, self.api, self.name, self.path = hosts, api, name, path
        self.lost = set()  # nodes
        self.pods = []
        self.tries = {}  # pods that were made, by host names
        self.done = set()  # indexes of jobs that a pod has completed: no other is made
        self.named = None
        self.outcome = None  # of the JobSet
        self.trouble = None
        self.output = open(hosts.base / "pods.log", "ab+")
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.ends.set()
        self.thread.join()
        for pod in self.pods:
            if pod.process:
                pod.process.kill()
                pod.process.wait()
        self.output.close()

    def said(self):
        self.output.flush()
        return (self.hosts.base / "pods.log").read_text(errors="replace")

    def run(self):
        try:
            self.jobs = list(jobs_of(self.api.job_set(self.name)))
            for job in self.jobs:
                self.api.batch.create_namespaced_job(SPACE, job)
            while not self.ends.is_set():
                self.reconcile()
                time.sleep(TURN_SECONDS)
        except Exception as why:  # the test says so
            self.trouble = why
            raise

    def pod(self, hostname):
        return next(pod for pod in self.pods if pod.hostname == hostname and not pod.is_over)

    def reconcile(self):
        for pod in list(self.pods):
            self.look_after(pod)
        self.name_pods()
        if self.outcome is None:
            for job in self.jobs:
                for index in range(job["spec"]["completions"]):
                    self.want(job, index)
        else:
            for pod in self.pods:
                if pod.process and not pod.is_over and not getattr(pod, "asked", False):
                    pod.asked = True
                    self.signal(pod, "TERM")

    def want(self, job, index):
        hostname = f"{job['metadata']['name']}-{index}"
        if hostname in self.done or any(pod.hostname == hostname and not pod.is_over for pod in self.pods):
            return
        taken = {pod.node for pod in self.pods if not pod.is_over}
        free = [host for host in self.hosts.all() if host not in taken and host not in self.lost]
        if not free:
            return
        self.tries[hostname] = self.tries.get(hostname, 0) + 1
        pod = Pod(job, index, self.tries[hostname], self.name)
        self.api.core.create_namespaced_pod(SPACE, pod.object)
        pod.node = free[0]
        self.pods.append(pod)
        self.mount(pod)
        self.start(pod)

    def name_pods(self):
        """The headless service: of the pods that there are, ready or not, but some time after they have begun."""
        known = [pod for pod in self.pods if not pod.is_over and pod.began is not None
                 and time.monotonic() - pod.began > NAMED_AFTER_SECONDS]
        if known == self.named:
            return
        self.named = known
        service = self.api.core.read_namespaced_service(self.name, SPACE)
        assert service.spec.cluster_ip == "None" and service.spec.publish_not_ready_addresses
        lines = ["127.0.0.1 localhost"] + [f"{self.hosts.address(pod.node)} {pod.hostname}.{self.name} {pod.hostname}"
                                           for pod in known]
        for host in self.hosts.all():
            if host not in self.lost:
                with contextlib.suppress(OSError):
                    self.hosts.path(host, "/etc/hosts").write_text("\n".join(lines) + "\n")

    def mount(self, pod):
        volumes = {volume["name"]: volume for volume in pod.spec["volumes"]}
        for mount in pod.spec["containers"][0]["volumeMounts"]:
            volume = volumes[mount["name"]]
            if "secret" in volume:
                held = self.api.core.read_namespaced_secret(volume["secret"]["secretName"], SPACE)
                self.write(pod, mount["mountPath"], held.string_data, volume["secret"]["defaultMode"])
            elif "configMap" in volume:
                held = self.api.core.read_namespaced_config_map(volume["configMap"]["name"], SPACE)
                self.write(pod, mount["mountPath"], held.data, 0o644)
            elif "persistentVolumeClaim" in volume:
                assert mount["mountPath"] in self.hosts.shared, mount
            else:
                assert volume["emptyDir"] == {"medium": "Memory"} and mount["mountPath"] == "/dev/shm", volume

    def write(self, pod, folder, files, mode):
        self.hosts.run(pod.node, ["mkdir", "-p", folder])
        for name, text in files.items():
            path = self.hosts.path(pod.node, f"{folder}/{name}")
            path.unlink(missing_ok=True)
            path.touch()
            os.chown(path, 0, pod.spec["securityContext"]["fsGroup"])
            path.chmod(mode)
            path.write_text(text)

    def start(self, pod):
        pod.began = pod.began or time.monotonic()
        command = pod.spec["containers"][0]["command"]
        pod.process = subprocess.Popen(self.hosts.command(pod.node, command, PATH=self.path), stdin=subprocess.DEVNULL,
                                       stdout=self.output, stderr=self.output)

    def signal(self, pod, name):
        """To the container's first process."""
        with contextlib.suppress(ProcessLookupError):
            subprocess.run(self.hosts.command(pod.node, ["sh", "-c", f"kill -{name} {self.inner_pid(pod)}"]), check=False)

    def inner_pid(self, pod):
        """The pid that the container's first process has on its node: nsenter has forked it."""
        pid = pod.process.pid
        child = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        status = pathlib.Path(f"/proc/{child}/status").read_text()
        return next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1]

    def look_after(self, pod):
        if pod.is_over or pod.process is None:
            return
        if pod.node in self.lost:
            self.end(pod, None)
        elif pod.process.poll() is not None:
            code = pod.process.returncode if pod.process.returncode >= 0 else 128 - pod.process.returncode
            restarts = pod.spec["restartPolicy"] == "OnFailure" and not pod.is_evicted
            if code != 0 and restarts and self.outcome is None:
                pod.restarts += 1
                self.start(pod)
            else:
                self.end(pod, code)

    def end(self, pod, code):
        """`code` None: the pod was lost with its node."""
        pod.is_over = True
        if code is None:
            pod.process.kill()
            pod.process.wait()
        self.api.core.delete_namespaced_pod(pod.name, SPACE)
        rules = pod.job["spec"].get("podFailurePolicy", {}).get("rules", [])
        is_disrupted = (code is None or pod.is_evicted) and any(
            rule["action"] == "Ignore" and rule["onPodConditions"][0]["type"] == "DisruptionTarget" for rule in rules)
        fails = not is_disrupted and any(rule["action"] == "FailJob" and code in rule["onExitCodes"]["values"] for rule in rules if "onExitCodes" in rule)
        targets = self.api.job_set(self.name)["spec"]["successPolicy"]["targetReplicatedJobs"]
        part = pod.job["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"]
        if code == 0:
            self.done.add(pod.hostname)
        if code == 0 and part in targets:
            self.outcome = "Completed"
        elif fails or (code not in (None, 0) and pod.job["spec"]["backoffLimit"] < self.tries[pod.hostname] and not is_disrupted):
            self.outcome = f"Failed: {pod.name} ended with {code}"

    def lose(self, host):
        """A node loses its power; its pods are lost when Kubernetes finds out."""
        self.hosts.lose_power(host)
        self.lost.add(host)

    def evict(self, pod):
        """As for a node that is drained: the container is asked to end, and the pod is another's then."""
        pod.is_evicted = True
        self.signal(pod, "TERM")
