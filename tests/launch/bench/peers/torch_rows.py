"""Rows in torch: nn.EmbeddingBag(sparse=True) in DistributedDataParallel over gloo, stepped by optim.Adagrad. Rank 0 prints
JSON.

Every process is a rank and has the whole table with its state. A clock is a forward, a backward and a step: a bag for each
id of the batch, so that every row of the batch reaches the worker, and a gradient of ones for each. gloo gathers the rows and
gradients of all ranks, and every rank steps all of them. Rows are known by their numbers: such a table has no ids. DDP
divides by the number of ranks, so gradients are as many times larger, and the step is that of the sum.

Needs torch and numpy."""

import argparse
import json
import os
import pathlib
import sys
import time

import numpy
import torch

import row_draws
import row_references


class Rank:
    def __init__(self, options):
        self.options = options
        weight = torch.zeros(options.rows, options.dim)
        self.table = torch.nn.EmbeddingBag(options.rows, options.dim, mode="sum", sparse=True, _weight=weight)
        # All ranks begin with zeros.
        self.model = torch.nn.parallel.DistributedDataParallel(self.table, init_sync=False)
        self.optimizer = torch.optim.Adagrad(self.model.parameters(), lr=float(row_references.LEARNING_RATE),
                                             eps=float(row_references.EPSILON))
        self.bags = torch.arange(options.batch)
        self.gradients = torch.full((options.batch, options.dim), float(options.workers))
        self.draws = row_draws.draws_of_ranks(options.rows, options.batch, options.zipf, options.workers)
        self.reference = row_references.Summed(options.rows)

    def run_clock(self, numbers):
        self.optimizer.zero_grad()
        rows = self.model(numbers, self.bags[:len(numbers)])
        rows.backward(self.gradients[:len(numbers)])
        self.optimizer.step()

    def check(self):
        weight = self.table.weight
        numbers = torch.from_numpy(self.reference.numbers.astype(numpy.int64))
        self.reference.check(weight.detach()[numbers].numpy(), self.optimizer.state[weight]["sum"][numbers].numpy())

    def run_round(self):
        """When it began and ended, and what it took; batches are drawn before. Every rank checks its own table."""
        clocks = row_draws.round_of(self.draws)
        own = [torch.from_numpy(batches[self.options.rank].astype(numpy.int64)) for batches in clocks]
        torch.distributed.barrier()
        cpu, begin = time.process_time(), time.monotonic_ns()
        for numbers in own:
            self.run_clock(numbers)
        end, cpu = time.monotonic_ns(), time.process_time() - cpu
        for batches in clocks:
            self.reference.push(batches)
        self.check()
        return {"begin": begin, "end": end, "cpu_seconds": cpu, "rows": sum(map(len, own))}

    def run(self):
        rounds = [self.run_round() for _ in range(self.options.warmup + self.options.repeat)]
        found = [None] * self.options.workers
        torch.distributed.all_gather_object(found, rounds[self.options.warmup:])
        return {"seconds": [(max(own["end"] for own in each) - min(own["begin"] for own in each)) * 1e-9
                            for each in zip(*found)],
                "rows_per_round": sum(own["rows"] for rank in found for own in rank) / self.options.repeat,
                "workers_cpu_seconds": sum(own["cpu_seconds"] for rank in found for own in rank),
                "verified": len(rounds), "versions": {"torch": torch.__version__}}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "dim", "batch", "workers", "warmup", "repeat", "rank"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--zipf", type=float, default=0, help="exponent; 0: uniform")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the ranks find each other")
    parser.add_argument("--threads", type=int, default=1, help="of a rank, which is not pinned if they are more")
    parser.add_argument("--pin", choices=["auto", "none"], default="auto")
    return parser.parse_args()


def main():
    options = parse()
    cores = sorted(os.sched_getaffinity(0))
    if options.pin == "auto" and options.threads == 1:
        os.sched_setaffinity(0, {cores[options.rank % len(cores)]})
    torch.set_num_threads(options.threads)
    torch.sparse.check_sparse_tensor_invariants.disable()
    torch.distributed.init_process_group("gloo", init_method=f"file://{options.folder / 'ranks'}", rank=options.rank,
                                         world_size=options.workers)
    try:
        result = Rank(options).run()
    except ValueError as error:
        print(f"torch_rows: rank {options.rank}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    if options.rank == 0:
        print(json.dumps(result), flush=True)
    os._exit(0)  # some of torch's threads end the process otherwise, after all is done


if __name__ == "__main__":
    main()
