#include "launch/chaos/options.hpp"

namespace tidegate::chaos {

std::string chaos_help() {
  return R"(tidegate chaos RUN_DIR kill|stop|continue PROCESS [--signal NAME] [--seed S]
tidegate chaos RUN_DIR partition|heal HOST [--for TIME]
tidegate chaos RUN_DIR cut PROCESS PROCESS
tidegate chaos RUN_DIR fill [--for TIME]
tidegate chaos RUN_DIR random [--seed S] [--every 200ms..2s] [--roles ROLE,...]
    [--actions ACTION,...] [--count N] [--for TIME]

Kills and stops processes of a run on purpose, and notes each in RUN_DIR/chaos.jsonl and as a
`fault` in events.jsonl, a line each. PROCESS is a name as worker-mlp-1, shard-0, coordinator-0, or role:worker for
one of that role, drawn by the seed. What a process has started gets the signal, too. A pid that
belongs to no process of the run any more gets none.

  kill, stop, continue   SIGKILL, SIGSTOP, SIGCONT
  --signal NAME          for kill: another signal, as TERM
  partition, heal        the interface that has the address of HOST (cluster.hosts) goes down, and
                         up; with --for it is healed after that time, or with Ctrl-C
  cut                    the TCP connections between two processes, which live on and connect again
  fill                   takes all that is free on the disk of the run folder, for 1s without
                         --for, or until Ctrl-C; not one with more than 4 GiB free
  random                 again and again, until count, time or run end, or Ctrl-C; who is stopped
                         then goes on
  --seed S               of all that is drawn; default 1
  --every A..B           the pause before each, drawn from this range; default 200ms..2s
  --roles ROLE,...       coordinator, shard, replica, aggregator, worker; default worker
  --actions ACTION,...   kill, stop:TIME, after which it goes on, partition:TIME of a host that is
                         drawn, fill:TIME; one is drawn; default kill
  --count N              so many, then end
  --for TIME             so long, then end, as 30s

Exit codes: 0 done, or the run has ended; 1 no such process, or it could not be signalled; 2 bad
usage. docs/fault_tolerance.md says what a run survives.
)";
}

}  // namespace tidegate::chaos
