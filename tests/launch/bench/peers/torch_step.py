"""How long PyTorch takes for a sum of gradients and an optimizer's step: what scripts/bench_device compares with.

usage: torch_step.py sums      [--device cuda:0] [--bytes N] [--inputs 2,4,8] [--repeat N]
       torch_step.py allreduce [--device cuda:0] [--bytes N] [--ranks 1,2,4] [--repeat N]

`sums` adds N gradients of one GPU and steps torch.optim.SGD or Adam, both fused. The sum is made in two ways, in turn,
and whoever compares counts the better. `allreduce` has a process and a GPU for each rank, of which --device names the
first: NCCL's all-reduce of their gradients, then the same step. Where there are fewer GPUs than ranks all share the
first: NCCL refuses that within a host, so each rank is told that it is a host of its own (NCCL_HOSTID), and NCCL goes
by TCP. With --device cpu both run without a GPU, over gloo, which shows that they run and nothing more.

Times are the host's, of batches that end with a synchronization, as in `tidegate bench device`. Prints JSON. Exit code
77, after a line that says what is missing: there is no torch, or no GPU that it can use.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time

MISSING = 77
BATCH_SECONDS = 0.02
BATCH_STEPS_MAX = 512
TRIALS = 3  # of a step, before a batch
RANKS_SECONDS = 300  # until the ranks of a measurement have ended


def missing(reason):
    print(f"torch_step: {reason}", file=sys.stderr)
    sys.exit(MISSING)


def import_torch(device):
    """The module, once it is known that it can use this device."""
    try:
        import torch
    except (ImportError, OSError) as error:
        missing(f"torch cannot be imported by {sys.executable}: {error}")
    if device == "cpu":
        return torch
    if not device.startswith("cuda:"):
        missing(f"torch knows no device {device}")
    if not torch.cuda.is_available():
        missing(f"torch {torch.__version__} has no GPU to use: it was built without CUDA, or there is no GPU or driver")
    if index_of(device) >= torch.cuda.device_count():
        missing(f"torch sees {torch.cuda.device_count()} GPUs, and no {device}")
    return torch


def index_of(device):
    return int(device.partition(":")[2])


class Timer:
    def __init__(self, torch, device):
        self.wait = (lambda: torch.cuda.synchronize(device)) if device != "cpu" else (lambda: None)

    def seconds(self, work, times):
        self.wait()
        began = time.perf_counter()
        for _ in range(times):
            work()
        self.wait()
        return (time.perf_counter() - began) / times

    def times(self, work):
        """How many of it fill a batch. The first two warm up, and the quickest of the next counts. All ranks call it as
        often."""
        self.seconds(work, 2)
        least = min(self.seconds(work, 1) for _ in range(TRIALS))
        return max(1, min(BATCH_STEPS_MAX, int(BATCH_SECONDS / max(least, 1e-9)) + 1))


def optimizer_of(torch, name, parameter):
    if name == "adam":
        return torch.optim.Adam([parameter], lr=0.01, fused=True)
    return torch.optim.SGD([parameter], lr=0.01, fused=True)


def parameter_of(torch, elements, device):
    parameter = torch.nn.Parameter(torch.rand(elements, device=device))
    parameter.grad = torch.rand(elements, device=device)
    return parameter


def step_of(torch, name, way, gradients, device):
    """A function that adds the gradients in this way, and steps."""
    parameter = parameter_of(torch, gradients.shape[1], device)
    optimizer = optimizer_of(torch, name, parameter)
    rows = list(gradients)

    def work():
        with torch.no_grad():
            if len(rows) == 1:
                parameter.grad.copy_(rows[0])
            elif way == "sum":
                torch.sum(gradients, dim=0, out=parameter.grad)
            else:
                torch.add(rows[0], rows[1], out=parameter.grad)
                for row in rows[2:]:
                    parameter.grad.add_(row)
        optimizer.step()

    return work


def measure_sums(arguments):
    torch = import_torch(arguments.device)
    device = torch.device(arguments.device)
    timer = Timer(torch, arguments.device)
    elements = arguments.bytes // 4
    gradients = torch.rand(max(arguments.inputs), elements, device=device)
    source, target = torch.rand(elements, device=device), torch.empty(elements, device=device)

    def copy():
        target.copy_(source)

    steps = [("sgd", inputs) for inputs in arguments.inputs] + [("adam", arguments.inputs[0])]
    rows = [{"optimizer": name, "inputs": inputs, "variant": way, "seconds": [], "copy_seconds": [],
             "work": step_of(torch, name, way, gradients[:inputs], device)}
            for name, inputs in steps for way in ("sum", "add")]
    for _ in range(arguments.repeat):
        for row in rows:
            row["copy_seconds"].append(timer.seconds(copy, timer.times(copy)))
            row["seconds"].append(timer.seconds(row["work"], timer.times(row["work"])))
    for row in rows:
        del row["work"]
    return {**about(torch, arguments), "steps": rows}


def about(torch, arguments):
    found = {"torch": torch.__version__, "device": arguments.device, "bytes": arguments.bytes}
    if arguments.device != "cpu":
        found["gpu"] = torch.cuda.get_device_name(index_of(arguments.device))
        found["cuda"] = torch.version.cuda
    return found


def run_rank(arguments):
    """A process of `allreduce`; that of rank 0 prints what was measured."""
    torch = import_torch(arguments.device)
    dist = torch.distributed
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = "cpu"
    if arguments.device != "cpu":
        device = arguments.device if arguments.shared else f"cuda:{index_of(arguments.device) + rank}"
        torch.cuda.set_device(device)
    dist.init_process_group("gloo" if device == "cpu" else "nccl")
    # The average of gradients stays as large as they are; gloo has none.
    operation = dist.ReduceOp.SUM if device == "cpu" else dist.ReduceOp.AVG
    timer = Timer(torch, device)
    rows = []
    for name in ("sgd", "adam"):
        parameter = parameter_of(torch, arguments.bytes // 4, device)
        optimizer = optimizer_of(torch, name, parameter)

        def work(parameter=parameter, optimizer=optimizer):
            dist.all_reduce(parameter.grad, op=operation)
            optimizer.step()

        seconds = []
        for _ in range(arguments.repeat):
            times = torch.tensor([timer.times(work)], device=device)
            dist.broadcast(times, 0)  # all ranks make as many
            seconds.append(timer.seconds(work, int(times.item())))
        rows.append({"optimizer": name, "inputs": ranks, "shared": arguments.shared, "seconds": seconds})
    if rank == 0:
        print(json.dumps(rows), flush=True)
    dist.destroy_process_group()
    os._exit(0)  # some of torch's threads end the process otherwise, after all is done


def run_ranks(arguments, ranks, shared):
    """The steps that rank 0 has measured. Shared: all ranks are on one GPU."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [sys.executable, __file__, "rank", "--device", arguments.device, "--bytes", str(arguments.bytes),
               "--repeat", str(arguments.repeat), *(["--shared"] if shared else [])]
    settings = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, **settings, "RANK": str(rank),
                                       **({"NCCL_HOSTID": f"rank-{rank}"} if shared else {})}) for rank in range(ranks)]
    deadline = time.monotonic() + RANKS_SECONDS
    try:
        outputs = [process.communicate(timeout=max(1, deadline - time.monotonic()))[0] for process in processes]
    except subprocess.TimeoutExpired:
        sys.exit(f"torch_step: {ranks} ranks did not end within {RANKS_SECONDS} s")
    finally:
        for process in processes:
            process.kill()
            process.wait()
    codes = [process.returncode for process in processes]
    if any(codes):
        sys.exit(f"torch_step: of {ranks} ranks some failed, exit codes {codes}")
    return json.loads(outputs[0].strip().split("\n")[-1])


def measure_allreduce(arguments):
    torch = import_torch(arguments.device)
    gpus = 0
    if arguments.device != "cpu":
        if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
            missing(f"torch {torch.__version__} has no NCCL")
        gpus = torch.cuda.device_count() - index_of(arguments.device)
    rows = [row for ranks in arguments.ranks for row in run_ranks(arguments, ranks, bool(gpus) and ranks > gpus)]
    return {**about(torch, arguments), "steps": rows}


def listed(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", choices=["sums", "allreduce", "rank"])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--bytes", type=int, default=256 << 20, help="of each array")
    parser.add_argument("--inputs", type=listed, default=[2, 4, 8])
    parser.add_argument("--ranks", type=listed, default=[1, 2, 4])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--shared", action="store_true", help="of a rank: it shares its GPU with the others")
    arguments = parser.parse_args()
    if arguments.measured == "rank":
        run_rank(arguments)
    measure = measure_sums if arguments.measured == "sums" else measure_allreduce
    print(json.dumps(measure(arguments)))


if __name__ == "__main__":
    main()
