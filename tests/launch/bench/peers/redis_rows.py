"""Rows in Redis: workers pull batches with MGET, step them with AdaGrad, and write them with MSET. Prints JSON.

Redis has no commands for arithmetic on arrays, so workers step. The state goes both ways with the values, as one string:
`dim` values and then `dim` states, float32. A batch is divided into commands of some keys, which are sent in a row: a worker
steps the rows of one command while the server is busy with the next, and asks for its next batch before the last MSET is
answered. All keys and all strings are of one length, so numpy writes and reads whole commands in place. That takes a worker
a quarter of the CPU of redis-py with hiredis, which makes an object of every string.

Nothing orders the workers: a push that meets another's is lost. The result says how many of the pushes to the rows that
are compared were lost.

Needs numpy and redis-server. The server is a process of its own on the first core, and has no persistence."""

import argparse
import json
import multiprocessing
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import time

import numpy

import row_draws
import row_references

WAIT_SECONDS = 120
START_SECONDS = 20
KEYS_OF_LOAD = 1024


class Refused(Exception):
    """The server does not do what is asked; the message is its answer."""


def command_dtype(dim):
    """The layout of a key and a row in a command, and the bytes between them."""
    size = 8 * dim
    middle = f"\r\n${size}\r\n".encode()
    return numpy.dtype([("head", "S4"), ("id", "<u8"), ("middle", f"S{len(middle)}"), ("row", "u1", (2, size // 2)),
                        ("tail", "S2")]), middle


class Client:
    """Commands for rows of `dim` values, on a socket that waits. One thread."""

    def __init__(self, address, dim, keys):
        self.dim, self.keys = dim, keys
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_SECONDS)
        self.socket.connect(address)
        if family == socket.AF_INET:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        dtype, middle = command_dtype(dim)
        self.pairs = numpy.zeros(keys, dtype)
        self.pairs["head"], self.pairs["middle"], self.pairs["tail"] = b"$8\r\n", middle, b"\r\n"
        # A row of an answer has what is between id and end of a pair, but for the line's end before it.
        self.lead = middle[2:]
        self.answer = numpy.dtype([("lead", f"S{len(self.lead)}"), ("row", "u1", (2, 4 * dim)), ("tail", "S2")])
        self.rows = numpy.empty((2, keys, dim), numpy.float32)
        self.received = bytearray(self.answer.itemsize * keys + 32)

    def request_pull(self, ids):
        """Sends the MGETs of a batch."""
        words = []
        for part in parts_of(ids, self.keys):
            frames = numpy.zeros(len(part), [("head", "S4"), ("id", "<u8"), ("tail", "S2")])
            frames["head"], frames["id"], frames["tail"] = b"$8\r\n", part, b"\r\n"
            words += [b"*%d\r\n$4\r\nMGET\r\n" % (len(part) + 1), frames.tobytes()]
        self.socket.sendall(b"".join(words))

    def pulled(self, count):
        """Values and states of the next command's rows, which are valid until the next call."""
        head = b"*%d\r\n" % count
        size = len(head) + self.answer.itemsize * count
        self.receive(size, head)
        frames = numpy.frombuffer(self.received, self.answer, count, len(head))
        if not ((frames["lead"] == self.lead) & (frames["tail"] == b"\r\n")).all():
            raise Refused("a row is not there, or is of another length")
        for half in (0, 1):
            self.rows[half, :count].view(numpy.uint8)[:] = frames["row"][:, half]
        return self.rows[0, :count], self.rows[1, :count]

    def push(self, ids, values, states):
        """Sends an MSET."""
        frames = self.pairs[:len(ids)]
        frames["id"] = ids
        for half, part in enumerate((values, states)):
            frames["row"][:, half] = part.view(numpy.uint8)
        self.socket.sendall(b"*%d\r\n$4\r\nMSET\r\n" % (2 * len(ids) + 1))
        self.socket.sendall(frames)

    def pushed(self, commands):
        """Waits for the answers to MSETs."""
        for part in parts_of(b"+OK\r\n" * commands, len(self.received)):
            self.receive(len(part), part)

    def receive(self, size, begin):
        """Reads as many bytes, which have to begin so."""
        view, count = memoryview(self.received), 0
        while count < size:
            more = self.socket.recv_into(view[count:size])
            if more == 0:
                raise Refused("the server has closed the connection")
            count += more
            known = min(count, len(begin))
            if self.received[:known] != begin[:known]:
                raise Refused(bytes(view[:count]).split(b"\r\n")[0].decode(errors="replace")[:200])

    def close(self):
        self.socket.close()


def parts_of(whole, size):
    return [whole[begin:begin + size] for begin in range(0, len(whole), size)]


class Stepper:
    """AdaGrad for gradients of ones, in arrays that stay in the cache."""

    def __init__(self, dim, keys):
        self.gradients = numpy.ones((keys, dim), numpy.float32)
        self.work = numpy.empty((2, keys, dim), numpy.float32)

    def step(self, values, states):
        count = len(values)
        gradients, (first, second) = self.gradients[:count], self.work[:, :count]
        numpy.multiply(gradients, gradients, out=first)
        states += first
        numpy.sqrt(states, out=first)
        first += row_references.EPSILON
        numpy.multiply(gradients, row_references.LEARNING_RATE, out=second)
        second /= first
        values -= second


def run_clocks(client, stepper, batches):
    """Pulls, steps and pushes each of the batches."""
    client.request_pull(batches[0])
    for number, batch in enumerate(batches):
        parts = parts_of(batch, client.keys)
        for part in parts:
            values, states = client.pulled(len(part))
            stepper.step(values, states)
            client.push(part, values, states)
        # The server answers in order.
        if number + 1 < len(batches):
            client.request_pull(batches[number + 1])
        client.pushed(len(parts))


def cpu_seconds_of(pid):
    """Of all threads of a process: Linux makes the number of its clock of its pid."""
    return time.clock_gettime((~pid << 3) | 2)


class Worker:
    def __init__(self, rank, options, address, server, barrier):
        self.rank, self.options, self.server, self.barrier = rank, options, server, barrier
        if options.cores:
            os.sched_setaffinity(0, {options.cores[(1 + rank) % len(options.cores)]})
        self.client = Client(address, options.dim, min(options.keys, options.batch))
        self.stepper = Stepper(options.dim, self.client.keys)
        self.reference = row_references.Counted(options.rows, options.workers)
        draws = row_draws.draws_of_ranks(options.rows, options.batch, options.zipf, options.workers)
        # Rank 0 checks, and so has to know what all push.
        self.draws = draws if rank == 0 else draws[rank:rank + 1]

    def load(self):
        """Makes a share of the rows, all 0."""
        client = Client(self.client.socket.getpeername(), self.options.dim, KEYS_OF_LOAD)
        zeros = numpy.zeros((KEYS_OF_LOAD, self.options.dim), numpy.float32)
        numbers = numpy.arange(self.rank, self.options.rows, self.options.workers, dtype=numpy.uint64)
        for part in parts_of(row_draws.mix(numbers), KEYS_OF_LOAD):
            client.push(part, zeros[:len(part)], zeros[:len(part)])
            client.pushed(1)
        client.close()

    def check(self):
        """Returns how many pushes of the rows that are compared were lost by now."""
        ids = row_draws.mix(self.reference.numbers)
        self.client.request_pull(ids)
        found = [numpy.array(self.client.pulled(len(part))) for part in parts_of(ids, self.client.keys)]
        return self.reference.check(*numpy.concatenate(found, axis=1))

    def run_round(self):
        """When it began and ended, and what it took; batches are drawn before."""
        clocks = row_draws.round_of(self.draws)
        own = [row_draws.mix(batches[0]) for batches in clocks]
        servers = cpu_seconds_of(self.server) if self.rank == 0 else 0
        self.barrier.wait(WAIT_SECONDS)
        cpu, begin = time.process_time(), time.monotonic_ns()
        run_clocks(self.client, self.stepper, own)
        end, cpu = time.monotonic_ns(), time.process_time() - cpu
        self.barrier.wait(WAIT_SECONDS)
        found = {"begin": begin, "end": end, "cpu_seconds": cpu, "rows": sum(map(len, own))}
        if self.rank == 0:
            found["servers_cpu_seconds"] = cpu_seconds_of(self.server) - servers
            for batches in clocks:
                self.reference.push(batches)
            found["lost"] = self.check()
        self.barrier.wait(WAIT_SECONDS)
        return found

    def run(self):
        self.load()
        self.barrier.wait(WAIT_SECONDS)
        rounds = [self.run_round() for _ in range(self.options.warmup + self.options.repeat)]
        pushes = int(self.reference.pushes.sum())
        return {"rounds": rounds[self.options.warmup:], "verified": len(rounds), "pushes_compared": pushes}


def run_worker(rank, options, address, server, barrier, results):
    try:
        results.put((rank, Worker(rank, options, address, server, barrier).run()))
    except Exception as error:  # whatever it is, the others must not wait
        barrier.abort()
        results.put((rank, f"worker {rank}: {type(error).__name__}: {error}"))


def server_command(options, folder):
    """And the address where it listens."""
    command = ["redis-server", "--save", "", "--appendonly", "no", "--dir", str(folder), "--logfile",
               str(folder / "redis.log"), "--io-threads", str(options.io_threads), "--disable-thp", "no"]
    if options.io_threads > 1:
        command += ["--io-threads-do-reads", "yes"]
    if options.cores and options.io_threads == 1:
        command += ["--server_cpulist", str(options.cores[0])]
    if options.transport == "unix":
        address = str(folder / "redis")
        return command + ["--port", "0", "--unixsocket", address], address
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return command + ["--bind", "127.0.0.1", "--port", str(port)], ("127.0.0.1", port)


def wait_for(server, address, dim):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            Client(address, dim, 1).close()
            return
        except OSError:
            time.sleep(0.01)
    raise Refused(f"redis-server does not listen at {address}")


def collect(workers, results):
    """What each rank has put into the queue."""
    found = {}
    while len(found) < len(workers):
        try:
            rank, said = results.get(timeout=1)
            found[rank] = said
        except queue.Empty:
            died = [rank for rank, worker in enumerate(workers) if worker.exitcode]
            if died:
                raise Refused(f"worker {died[0]} has died") from None
    return found


def measure(options):
    command, address = server_command(options, options.folder)
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(options.workers), context.Queue()
    workers = []
    try:
        wait_for(server, address, options.dim)
        for rank in range(options.workers):
            workers.append(context.Process(target=run_worker, args=(rank, options, address, server.pid, barrier, results)))
            workers[-1].start()
        found = collect(workers, results)
        for worker in workers:
            worker.join()
    finally:
        for worker in workers:
            worker.kill()
        server.terminate()
        server.wait()
    failures = [said for said in found.values() if isinstance(said, str)]
    if failures:
        # The others only say that the first has left them.
        raise Refused(next((said for said in failures if "BrokenBarrier" not in said), failures[0]))
    return result_of([found[rank] for rank in range(options.workers)], options)


def result_of(ranks, options):
    rounds = list(zip(*(rank["rounds"] for rank in ranks)))
    return {"seconds": [(max(own["end"] for own in each) - min(own["begin"] for own in each)) * 1e-9 for each in rounds],
            "rows_per_round": sum(own["rows"] for each in rounds for own in each) / options.repeat,
            "workers_cpu_seconds": sum(own["cpu_seconds"] for each in rounds for own in each),
            "servers_cpu_seconds": sum(each[0]["servers_cpu_seconds"] for each in rounds),
            "verified": ranks[0]["verified"], "pushes_compared": ranks[0]["pushes_compared"],
            "pushes_lost": rounds[-1][0]["lost"], "versions": {"numpy": numpy.__version__}}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "dim", "batch", "workers", "warmup", "repeat"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--zipf", type=float, default=0, help="exponent; 0: uniform")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="of the server, for its socket")
    parser.add_argument("--transport", choices=["unix", "tcp"], default="unix")
    parser.add_argument("--keys", type=int, default=1024, help="of a command")
    parser.add_argument("--io-threads", type=int, default=1, help="of the server, which is not pinned if they are more")
    parser.add_argument("--pin", choices=["auto", "none"], default="auto")
    options = parser.parse_args()
    options.cores = sorted(os.sched_getaffinity(0)) if options.pin == "auto" else []
    return options


def main():
    # What was started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("redis_rows: terminated"))
    try:
        print(json.dumps(measure(parse())))
    except (Refused, OSError) as error:
        sys.exit(f"redis_rows: {error}")


if __name__ == "__main__":
    main()
