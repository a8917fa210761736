"""Clusters on the nodes of a Ray cluster.

:func:`launch` runs a cluster file as :func:`tidegate.launch` does, with the processes on nodes that Ray has given: one
actor per node, in a placement group, holds the agent that starts and watches the processes there. Whatever ends an
actor ends all that it has started. Needs the package ``ray``, and Tidegate on every node.
"""

from ._launch import launch as launch

__all__ = ["launch"]
