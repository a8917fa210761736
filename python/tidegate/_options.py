"""Optimizers that shards run, and how parameters start."""

from __future__ import annotations

import dataclasses
from typing import Optional, Union


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How a learning rate follows the clocks of a table's steps; :func:`warm_up`, :func:`step_decay`, :func:`cosine_decay`."""

    kind: str
    warmup: int = 0
    clocks: Optional[int] = None
    factor: Optional[float] = None


def warm_up(clocks: int) -> Schedule:
    """The learning rate as it is, after it has risen to its value in so many clocks."""
    return Schedule("constant", clocks)


def step_decay(clocks: int, *, factor: float = 0.1, warmup: int = 0) -> Schedule:
    """The learning rate times `factor` (0 to 1) each time `clocks` clocks have passed since the warm-up."""
    return Schedule("step", warmup, clocks, factor)


def cosine_decay(clocks: int, *, factor: float = 0.0, warmup: int = 0) -> Schedule:
    """The learning rate that falls to `factor` times itself (0 to 1) along half a cosine, over `clocks` clocks after the
    warm-up (Loshchilov and Hutter, ICLR 2017, without restarts)."""
    return Schedule("cosine", warmup, clocks, factor)


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """The optimizer of a table. A value that is None is the default of docs/yaml.md for the named optimizer."""

    name: str
    learning_rate: Optional[float] = None
    momentum: Optional[float] = None
    beta1: Optional[float] = None
    beta2: Optional[float] = None
    epsilon: Optional[float] = None
    weight_decay: Optional[float] = None
    clip_value: Optional[float] = None
    schedule: Optional[Schedule] = None
    lazy: Optional[bool] = None
    l1: Optional[float] = None
    l2: Optional[float] = None
    beta: Optional[float] = None
    l21: Optional[float] = None
    reduce: Optional[str] = None
    states: Optional[int] = None

    def scheduled(self, schedule: Schedule) -> Optimizer:
        """Returns this optimizer with a learning rate that follows `schedule`."""
        return dataclasses.replace(self, schedule=schedule)

    def clipped(self, value: float) -> Optimizer:
        """Returns this optimizer with each element of the reduced gradient brought into [-value, value] first."""
        return dataclasses.replace(self, clip_value=value)

    def for_ranges(self) -> Optimizer:
        """Returns this optimizer as it is needed to push ranges of a table: an element that no worker pushes in a clock
        makes no step in it, and Adam corrects its bias as of the clock (`lazy` in docs/yaml.md)."""
        return dataclasses.replace(self, lazy=True)

    def reduced_by(self, reduction: str) -> Optimizer:
        """Returns this optimizer with another way in which what workers push in a clock becomes one, element by element,
        of those who pushed it: "mean", "sum", "max", "min", "product", "or" (the first number that is not 0, or 0),
        "and" (0, or the last number), or "plugin:NAME", a reduction of a plugin of the cluster."""
        return dataclasses.replace(self, reduce=reduction)


def sgd(learning_rate: float) -> Optimizer:
    """Stochastic gradient descent."""
    return Optimizer("sgd", learning_rate)


def momentum(learning_rate: float, momentum: Optional[float] = None) -> Optimizer:
    """Gradient descent with momentum."""
    return Optimizer("momentum", learning_rate, momentum)


def nesterov(learning_rate: float, momentum: Optional[float] = None) -> Optimizer:
    """Gradient descent with Nesterov's momentum."""
    return Optimizer("nesterov", learning_rate, momentum)


def adagrad(learning_rate: float, *, epsilon: Optional[float] = None) -> Optimizer:
    """AdaGrad (Duchi et al., JMLR 2011)."""
    return Optimizer("adagrad", learning_rate, epsilon=epsilon)


def adam(learning_rate: float, *, beta1: Optional[float] = None, beta2: Optional[float] = None,
         epsilon: Optional[float] = None) -> Optimizer:
    """Adam (Kingma and Ba, ICLR 2015)."""
    return Optimizer("adam", learning_rate, None, beta1, beta2, epsilon)


def adamw(learning_rate: float, *, beta1: Optional[float] = None, beta2: Optional[float] = None,
          epsilon: Optional[float] = None, weight_decay: Optional[float] = None) -> Optimizer:
    """AdamW: Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019)."""
    return Optimizer("adamw", learning_rate, None, beta1, beta2, epsilon, weight_decay)


def proximal(learning_rate: float, *, l1: Optional[float] = None, l2: Optional[float] = None) -> Optimizer:
    """A gradient step, then the proximal step of l1 |w| + l2/2 w**2, which makes small parameters 0 (Parikh and Boyd,
    Proximal Algorithms, 2014)."""
    return Optimizer("proximal", learning_rate, l1=l1, l2=l2)


def rowwise_adagrad(learning_rate: float, *, epsilon: Optional[float] = None) -> Optimizer:
    """AdaGrad with one number of state for each row, the mean of the squares of its gradients; of tables of rows alone
    (Khudia et al., FBGEMM, 2021)."""
    return Optimizer("rowwise_adagrad", learning_rate, epsilon=epsilon)


def ftrl(learning_rate: float, *, beta: Optional[float] = None, l1: Optional[float] = None,
         l2: Optional[float] = None) -> Optimizer:
    """FTRL-Proximal, which makes parameters 0 that gradients hardly move; of tables of rows alone (McMahan et al., KDD
    2013, algorithm 1)."""
    return Optimizer("ftrl", learning_rate, beta=beta, l1=l1, l2=l2)


def group_adagrad(learning_rate: float, *, epsilon: Optional[float] = None, l1: Optional[float] = None,
                  l2: Optional[float] = None, l21: Optional[float] = None) -> Optimizer:
    """Group AdaGrad, which makes whole rows 0 whose norm `l21` outweighs; of tables of rows alone (Yue et al., ECML-PKDD
    2021, algorithm 1 with the row as group)."""
    return Optimizer("group_adagrad", learning_rate, epsilon=epsilon, l1=l1, l2=l2, l21=l21)


def from_plugin(name: str, states: int = 0, *, learning_rate: Optional[float] = None, momentum: Optional[float] = None,
                beta1: Optional[float] = None, beta2: Optional[float] = None, epsilon: Optional[float] = None,
                weight_decay: Optional[float] = None, l1: Optional[float] = None, l2: Optional[float] = None,
                beta: Optional[float] = None, l21: Optional[float] = None) -> Optimizer:
    """An optimizer of a plugin of the cluster (``cluster.plugins``), which keeps so many numbers for each element and reads
    of the options what it likes (include/tidegate/plugin.h)."""
    return Optimizer("plugin:" + name, learning_rate, momentum, beta1, beta2, epsilon, weight_decay, l1=l1, l2=l2, beta=beta,
                     l21=l21, states=states)


def assign() -> Optimizer:
    """No optimizer: the parameters are what the workers' gradients came to in the last clock."""
    return Optimizer("assign")


@dataclasses.dataclass(frozen=True)
class Uniform:
    """Parameters that start uniform in [-bound, bound): a function of seed, table and element."""

    bound: float


def uniform(bound: float) -> Uniform:
    """Has a table start uniform in [-bound, bound)."""
    return Uniform(bound)


@dataclasses.dataclass(frozen=True)
class Segment:
    """Columns of each row of a table, side by side, with an optimizer and first values of their own.

    `init`: the value that all start with, or :func:`uniform`; uniform(0.01) where it is not given. What an optimizer
    looks at together, as :func:`rowwise_adagrad` and :func:`group_adagrad` do, is the columns of one segment.
    """

    columns: int
    optimizer: Optimizer
    init: Union[None, float, Uniform] = None


@dataclasses.dataclass(frozen=True)
class Pushed:
    """Parameters that start at what is pushed at clock 0."""


def pushed() -> Pushed:
    """Has a table start at the sum of what workers push at clock 0, whatever its optimizer: one worker, as a rule."""
    return Pushed()
