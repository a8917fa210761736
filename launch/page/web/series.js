// What a job's history is so far: columns, of which answers bring the end.

const OWN = new Set(["job", "position", "from", "begin_ms", "workers_count", "workers", "metrics"]);

function join(before, from, more) {
  return before ? before.slice(0, from).concat(more) : more;
}

export class Series {
  constructor(job) {
    this.job = job;
    this.position = "";
    this.columns = {t_ms: []};
    this.workers = new Map();
    this.metrics = new Map();
    this.beginMs = 0;
    this.workersCount = 0;
  }

  take(answer) {
    const {from} = answer;
    this.position = answer.position;
    this.beginMs = answer.begin_ms;
    this.workersCount = answer.workers_count;
    for (const [name, values] of Object.entries(answer))
      if (!OWN.has(name)) this.columns[name] = join(this.columns[name], from, values);
    this.workers = new Map(answer.workers.map((worker) => {
      const before = this.workers.get(worker.rank) ?? {};
      const columns = {};
      for (const [name, values] of Object.entries(worker))
        if (name !== "rank") columns[name] = join(before[name], from, values);
      return [worker.rank, columns];
    }));
    this.metrics = new Map(Object.entries(answer.metrics).map(([name, values]) =>
      [name, join(this.metrics.get(name), from, values)]));
  }

  get times() {
    return this.columns.t_ms.map((offset) => this.beginMs + offset);
  }

  get isEmpty() {
    return this.columns.t_ms.length === 0;
  }

  last(name) {
    return this.columns[name]?.at(-1);
  }

  // Means over the time that is shown, weighted alike.
  meanOf(rank, name) {
    const known = (this.workers.get(rank)?.[name] ?? []).filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
  }
}
