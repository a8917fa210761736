// Workers of a job: bars of where their time goes, and a table that has all.
import {brief, byId, count, element, isNumber, milliseconds, percent} from "./dom.js";
import {color} from "./charts.js";

const BARS = 12;
const ROWS = 24;

// From the status while the job runs; of one that has ended, means over its history.
export function workersOf(job, series) {
  if (job?.state === "running" && job.members?.length > 0) {
    const left = new Set(job.ranks_left);
    return job.members.filter((member) => !left.has(member.rank)).map((member) => ({
      rank: member.rank, clock: member.clock, samples: member.samples_per_second, computes: member.computes,
      calls: member.calls, waits: member.waits, last: member.comes_last, lateMs: 1000 * member.late_per_clock,
      incarnation: member.incarnation, state: member.finished ? "finished" : member.joined ? "" : "not there",
    }));
  }
  return [...(series?.workers.keys() ?? [])].map((rank) => ({
    rank, clock: series.workers.get(rank).clock.findLast(isNumber), samples: null, computes: series.meanOf(rank, "computes"),
    calls: series.meanOf(rank, "calls"), waits: series.meanOf(rank, "waits"), last: series.meanOf(rank, "comes_last"),
    lateMs: series.meanOf(rank, "late_ms"), incarnation: null, state: "",
  }));
}

// Returns the time that shares and rates are of.
const period = (isLive) => (isLive ? "the last five seconds" : "means over the run");

const lateness = (worker) => worker.lateMs ?? 0;
const byLateness = (workers) => [...workers].sort((a, b) => lateness(b) - lateness(a) || a.rank - b.rank);
const byRank = (workers) => [...workers].sort((a, b) => a.rank - b.rank);
// By rank where all have room, else those that are late first.
const select = (workers, most) => (workers.length <= most ? byRank(workers) : byLateness(workers).slice(0, most));

function mean(workers, name) {
  const known = workers.map((worker) => worker[name]).filter(isNumber);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

export function drawBars(chart, workers, total, isLive) {
  const shown = select(workers, BARS);
  const labels = shown.map((worker) => `${worker.rank}`);
  const others = byLateness(workers).slice(BARS);
  const rows = [...shown];
  if (others.length > 0) {
    labels.push(`${others.length} others`);
    rows.push({computes: mean(others, "computes"), calls: mean(others, "calls"), waits: mean(others, "waits")});
  }
  const bars = ["computes", "calls", "waits"].map((name) =>
    ({label: name, values: rows.map((row) => row[name]), color: color(name)}));
  const slowest = byLateness(workers)[0];
  chart.show(labels, bars, slowest === undefined ? "no workers yet"
    : `computes, calls and waits of ${rows.length} rows; worker ${slowest.rank} waits ${percent(slowest.waits)} of its time`);
  byId("bars-note").textContent = workers.length === 0 ? "" :
    `shares of each worker's time, ${period(isLive)}` +
    (total > shown.length ? `; the ${shown.length} whose pushes come last, of ${total}` : "");
}

const COLUMNS = [
  ["rank", (worker) => worker.rank], ["", (worker) => worker.state], ["clock", (worker) => count(worker.clock)],
  ["samples/s", (worker) => count(worker.samples)], ["computes", (worker) => percent(worker.computes)],
  ["calls", (worker) => percent(worker.calls)], ["waits", (worker) => percent(worker.waits)],
  ["comes last", (worker) => percent(worker.last)], ["late a clock", (worker) => milliseconds(worker.lateMs)],
  ["process", (worker) => brief(worker.incarnation)],
];

export function drawTable(workers, late, total, isLive) {
  const all = byId("all-workers").checked;
  const shown = all ? byRank(workers) : select(workers, ROWS);
  const head = element("tr", {}, ...COLUMNS.map(([name]) => element("th", {scope: "col", textContent: name})));
  const rows = shown.map((worker) => element("tr", {className: late.has(worker.rank) ? "late" : ""},
    ...COLUMNS.map(([name, cell]) => element(name === "rank" ? "th" : "td",
      name === "rank" ? {scope: "row", textContent: `${late.has(worker.rank) ? "▲ " : ""}${cell(worker)}`} : {textContent: cell(worker)}))));
  byId("workers").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  byId("workers-note").textContent = workers.length === 0 ? "" : `shares and rates: ${period(isLive)}` +
    (total > shown.length ? `; ${shown.length} of ${total}: those whose pushes come last and latest` : "");
}
