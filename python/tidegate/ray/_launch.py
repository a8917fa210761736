"""How a cluster file is run on nodes of Ray."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, Optional, Union

import ray

from .._cluster import Result, Settings, _words_of, launch as launch_here
from ..errors import InvalidArgumentError, UnavailableError
from ._agents import Agents


def launch(file: Union[str, "os.PathLike[str]"], *, nodes: Optional[int] = None,
           resources: Optional[Mapping[str, float]] = None, timeout: float = 60.0, set: Settings = None,
           run_dir: Union[None, str, "os.PathLike[str]"] = None, follow: bool = False) -> Result:
    """Runs a cluster file on nodes of the Ray cluster that this program is connected to, or else of the one of this
    node, and returns its results as :func:`tidegate.launch` does.

    This program's node is one of them: the launcher and the coordinator run here. `nodes`: how many, all that Ray has
    without it. `resources`: what the placement group asks of Ray for each of them, ``{"CPU": 1}`` without it; of the
    processes that Tidegate starts there Ray knows nothing else. `timeout`: seconds within which Ray has to give them. The
    hosts of the cluster have the names of the nodes where these are unlike and plain, and else ``ray-0``, ``ray-1``, ...;
    the file has no ``cluster.hosts``. The other arguments are those of :func:`tidegate.launch`.

    Raises UnavailableError if Ray gives no such nodes, and what :func:`tidegate.launch` raises.
    """
    if not ray.is_initialized():
        try:
            ray.init(address="auto", log_to_driver=False)
        except ConnectionError as error:
            raise UnavailableError(f"no Ray cluster is there to launch on: {error}") from error
    if nodes is not None and nodes < 1:
        raise InvalidArgumentError(f"nodes is {nodes}; allowed: 1 and more")
    own = ray.util.get_node_ip_address()
    alive = [node for node in ray.nodes() if node["Alive"]]
    count = len(alive) if nodes is None else nodes
    wanted = {"CPU": 1.0} if resources is None else dict(resources)
    group = ray.util.placement_group(
        [{**wanted, f"node:{own}": 0.001}, *([wanted] * (count - 1))], strategy="STRICT_SPREAD")
    try:
        _await(group, count, wanted, timeout)
        hosts = _hosts_of(group, own)
        with Agents(group, hosts) as agents:
            named = {name: {"address": address, **({"prefix": agents.command(name)} if index else {})}
                     for index, (name, address) in enumerate(hosts.items())}
            always = {"cluster.engine": "local", "cluster.hosts": named, "cluster.coordinator_host": next(iter(hosts)),
                      "cluster.control.host": own}
            return launch_here(file, set=[*_words_of(set), *_words_of(always)], run_dir=run_dir, follow=follow)
    finally:
        ray.util.remove_placement_group(group)


def _await(group: Any, count: int, wanted: Mapping[str, float], timeout: float) -> None:
    try:
        ray.get(group.ready(), timeout=timeout)
    except ray.exceptions.GetTimeoutError as error:
        raise UnavailableError(
            f"Ray has not given {count} nodes with {dict(wanted)} each within {timeout:g} s, of which one is this "
            f"program's; it has {len([node for node in ray.nodes() if node['Alive']])} nodes: {ray.cluster_resources()}"
        ) from error


def _hosts_of(group: Any, own: str) -> dict[str, str]:
    """The addresses of the nodes of the group's bundles, by the hosts' names, this program's first."""
    by_id = {node["NodeID"]: node for node in ray.nodes()}
    bundles = ray.util.placement_group_table(group)["bundles_to_node_id"]
    found = [by_id[bundles[index]] for index in sorted(bundles)]
    names = [str(node["NodeManagerHostname"]).split(".")[0] for node in found]
    if len(names) != len({*names}) or not all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name) for name in names):
        names = [f"ray-{index}" for index in range(len(found))]
    assert found[0]["NodeManagerAddress"] == own, (found, own)
    return {name: str(node["NodeManagerAddress"]) for name, node in zip(names, found)}
