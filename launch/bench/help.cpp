#include <string>
#include <string_view>

#include "launch/bench/options.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::bench {

namespace {

constexpr const char* general = R"(tidegate bench - measure on this machine

  tidegate bench exchange [options]
      whole exchanges of a real cluster: push, sum, optimizer, pull; every result verified
  tidegate bench latency [options]
      the round trip of a small exchange, one worker and one shard: p50, p90, p99
  tidegate bench roofline [options]
      what memory allows: read, copy, and the sum of N gradients with an optimizer's step
  tidegate bench device [options]
      optimizer steps on a GPU: bytes per second, as a share of a copy's in the same run
  tidegate bench rows [options]
      rows of sparse tables: look up, insert, gather, update; the worst batch while a table grows
  tidegate bench plot SERIES.json --svg FILE
      draw measured series, log-log
  tidegate bench SUBJECT --help

Nothing is kept but the files that are asked for. Machines are noisy: compare figures of one run,
repeat, and look at min and max. scripts/bench does so against other systems.
)";

constexpr const char* exchange = R"(tidegate bench exchange [options]

Starts a cluster per size. Every worker pushes a gradient; the shards sum them and step the
optimizer; every worker pulls the new parameters. Exchange time is from the first push to the last
worker's last parameter. Gradients are filled before and results compared after the timed part:
every element, in every iteration up to 4 MiB, above that in the first, every eighth and the last.

  --workers W        1 to 64; default 2
  --shards S         default 1
  --bytes LIST       gradient of one worker, as in 4096 or 4MiB,64MiB; default 4MiB,16MiB,64MiB
  --optimizer O      @OPTIMIZERS@; default sgd
  --transport T      auto, shm, tcp, ucx, rdma; default auto
  --encrypt E        true: what crosses between processes is encrypted; default false
  --hosts A,B        workers on host A, where this command runs, and shards on host B: for each
                     its address, then perhaps the command that starts its processes, as in
                     '10.0.0.1,10.0.0.2 ip netns exec b'
  --replicas R       of each shard, 0 to 2; default 0. They are not pinned, and count as servers
  --traces T         false: processes keep nothing of what they do (cluster.traces); default true
  --iterations N     timed ones per size; default: by size, 10 to 200
  --warmup N         iterations before, not counted; default 3
  --repeat N         exchanges of an iteration, one after the other with the same gradient; their
                     mean is its time; default 1
  --tables N         the bytes are split over so many tables; default 1
  --chunk BYTES      the cluster's chunk size; default as in a cluster file
  --share PERCENT    1 to 100: the bytes are so much of the tables, and are pushed and pulled as
                     a range; default: tables are exchanged whole
  --pin WHERE        auto: shards, then workers, each to one core, round robin; none; or the
                     cores to go round, as in 0,1
  --device D         cuda:N or emulated:N: shards step there, and tables of workers are there;
                     default: on the host
  --json FILE        all figures, every iteration's time too; - for standard output, no table
  --svg FILE         exchange time against size

Columns: payload is W x bytes / median time. CPU is that of workers and servers, in the timed part,
per GB of payload. Exit codes: 0 done; 1 a run failed or a result was wrong; 2 bad usage.
)";

constexpr const char* latency = R"(tidegate bench latency [options]

An exchange of one worker with one shard, again and again: p50, p90, p99 and max of the round trip.

  --bytes LIST       default 4KiB
  --transport T      auto, shm, tcp, ucx, rdma; default auto
  --encrypt E        true: what crosses between processes is encrypted; default false
  --hosts A,B        as in tidegate bench exchange
  --traces T         likewise
  --iterations N     default 2000
  --warmup N         default 200
  --pin WHERE        as in tidegate bench exchange
  --device D         likewise
  --json FILE        - for standard output, no table
)";

constexpr const char* roofline = R"(tidegate bench roofline [options]

Payload rates of this machine's memory: bytes read, bytes copied, and bytes of gradient taken in by
the fused sum of N gradients with one step of each optimizer in place. Arrays are private memory on
huge pages, threads are pinned. Shown are the best and the median of the rounds, and the payload rate
at the best. A sum is repeated over arrays that stay where they are; a fresh sum takes gradients that
the cores of the workers have just written.

  --bytes LIST       of one array; default: four times the last-level cache, 64 to 256 MiB
  --threads LIST     default 1 and all cores
  --inputs LIST      N; default 2,4
  --optimizer O      only this one; default sgd, momentum, adam
  --rounds N         default 5
  --json FILE        - for standard output, no table
)";

constexpr const char* device = R"(tidegate bench device [options]

Bytes per second of optimizer steps on a device, and their share of a copy's bytes per second, which
is measured before each of them. Every repeat measures all of them, for about 20 ms each; shown are
medians, and the least and the largest share. On a GPU this has never run. The figures of an emulated
device say nothing of any GPU.

  --device D         cuda:N or emulated:N; default cuda:0
  --bytes SIZE       of each array; default 256MiB. An emulated device has 1GiB of memory
  --inputs LIST      gradients that SGD sums, 1 to 64 each; momentum, adagrad and adam sum as many as
                     the first says; default 2,4,8
  --chunks LIST      bytes of parameters of a step of the queue; default 256KiB,16MiB
  --repeat N         default 15
  --json FILE        all figures, every repeat's time too; - for standard output, no table

Paths:
  kernel   one launch over whole arrays, gradients on the device. Copy: on the device, read and
           written
  queue    as a shard does it, a step for each chunk. Copy: the same
  host     likewise, with gradients in registered memory of the host, which are copied to the device
           while it computes; bytes are those of gradients. Copy: of the same bytes, from the host

Time is the host's: it has in it what launches and the last look at the device cost. Exit codes:
0 done; 1 a run failed; 2 bad usage; 77 there is no such device here, and the message says why.
)";

constexpr const char* rows = R"(tidegate bench rows [options]

Rows of sparse tables: of a table alone, or with --workers of a cluster.

Alone: rows per second of a table of embedding rows, one thread: its index alone, making rows, gathering
them, stepping them with AdaGrad, and both for one batch, as a pull and a push. Each batch of the
last three is measured beside the roofline: the same loops over private memory on huge pages, of
rows whose numbers are known. A share is the roofline's time over ours, the median of all batches;
one in ten is below the first of the two figures beside it, and one in ten above the second.

  --rows N           default 10000000. Table and roofline take twice 12 + 8 x dim bytes and more
                     per row
  --dim D            float32 values of a row, 1 to 4096; default 32
  --batch B          ids of a batch; default 16384
  --distribution D   uniform, or zipf:THETA as in zipf:0.99; default uniform. Ids are distinct
                     within a batch
  --threads 1        a table has one thread that writes
  --repeat N         batches of each operation, or rounds of a cluster, 1 to 1000; default 100
  --json FILE        all figures, every batch's time too; - for standard output, no table

Times are CPU times of the thread. The last table has batches that make rows, from an empty table
to a full one: the median, the 99th percentile and the worst, and the worst by the clock.

Over a cluster, under bsp: the table grows from nothing, while each worker times its pulls, and
then the same with rows that all exist. After that come rounds of 8 clocks: each worker pushes a
batch of gradients, and pulls the next one. Between them, in the same processes on the same cores,
is the roofline: each worker gathers and steps as many rows of its own memory by the same loops,
with the share of one worker of all rows there. Values of some 1000 rows are compared after each
round with what all pushes make of them. Rows per CPU second of servers count a row that is pulled
and pushed once.

  --workers W        1 to 64; a cluster is measured where this or one of the next is given
  --shards S         default 1
  --replicas R       as in tidegate bench exchange
  --transport T      auto, shm, tcp, ucx, rdma; default auto
  --hosts A,B        as in tidegate bench exchange
  --warmup N         rounds before, not counted; default 3
  --pin WHERE        as in tidegate bench exchange
  --memory SIZE      what a shard keeps of values and state in memory, 4MiB and more; the rest
                     lies in a file of the folder for temporary files. Default: all of it
)";

constexpr const char* plot = R"(tidegate bench plot SERIES.json --svg FILE

Draws time against size with logarithmic axes. The file:
  {"title": "...", "series": [{"name": "...", "points": [[bytes, seconds], ...]}, ...]}

  --svg FILE         the picture
)";

std::string with_optimizers(std::string text) {
  constexpr std::string_view mark = "@OPTIMIZERS@";
  return text.replace(text.find(mark), mark.size(),
                      runtime::optimizer_names(runtime::optimizer_option::learning_rate));
}

}  // namespace

std::string bench_help(const std::string& topic) {
  if (topic == "exchange") return with_optimizers(exchange);
  if (topic == "latency") return latency;
  if (topic == "roofline") return roofline;
  if (topic == "device") return device;
  if (topic == "rows") return rows;
  if (topic == "plot") return plot;
  return general;
}

}  // namespace tidegate::bench
