// Puts it together: what is asked for, and what is drawn of it.
import {BarChart, TimeChart, color, seriesColor, setUpCharts} from "./charts.js";
import {brief, byId, count, duration, element, isNumber, milliseconds, percent, setText, timeOfDay} from "./dom.js";
import {Events} from "./events.js";
import {Feed, Refused, ask, hasKey, keepKey} from "./feed.js";
import {drawJobs, drawReasons, jobsOfHistory} from "./jobs.js";
import {Logs} from "./logs.js";
import {Series} from "./series.js";
import {drawShards} from "./shards.js";
import {drawStaleness} from "./staleness.js";
import {drawTopology, processesOf} from "./topology.js";
import {drawBars, drawTable, workersOf} from "./workers.js";

const REASON_LINES = 30;
const REASON_LINES_AT_END = 3600;
const NAMES_EVERY = 10; // rounds

const events = new Events();
const logs = new Logs();
const run = {status: null, names: [], chosen: "", series: null, reasons: [], rounds: 0};
let charts = null;

function makeCharts() {
  for (const shown of Object.values(charts ?? {})) shown.chart.destroy();
  charts = {
    speed: new TimeChart("speed-chart", count, {legend: false}),
    metric: new TimeChart("metric-chart", brief, {legend: false}),
    shares: new TimeChart("shares-chart", percent, {stacked: true, max: 1}),
    late: new TimeChart("late-chart", milliseconds),
    clock: new TimeChart("clock-chart", count, {whole: true}),
    bars: new BarChart("bars-chart", percent),
    staleness: new BarChart("staleness-chart", percent),
  };
}

const note = (id, text) => setText(byId(id), text);

const lateRanks = () => new Set(run.reasons.find((reason) => reason.job === run.chosen)?.ranks ?? []);

// Of this job alone, or of all.
function lateProcesses(of) {
  return new Set(run.reasons.filter(({job}) => of === undefined || job === of).flatMap(({job, ranks, shards}) =>
    [...ranks.map((rank) => `worker-${job}-${rank}`), ...shards.map((shard) => `shard-${shard}`)]));
}

// Those that hold the job up stand out; the others stay in the background.
function workerLines(column, map = (value) => value) {
  const late = lateRanks();
  return [...run.series.workers].map(([rank, columns], index) => ({
    label: `worker ${rank}`, values: columns[column].map(map),
    color: late.has(rank) ? color("bad") : seriesColor(index), width: late.has(rank) ? 2.75 : 1.25, order: late.has(rank) ? -1 : 0,
  }));
}

const some = () => (run.series.workersCount > run.series.workers.size
  ? `the ${run.series.workers.size} workers that were late for longest, of ${run.series.workersCount}` : "each worker");

function drawSpeed(times, marks) {
  const {columns} = run.series;
  const last = columns.samples_per_second.at(-1);
  const hasSamples = columns.samples_per_second.some((value) => value > 0);
  const name = hasSamples ? "samples_per_second" : "clocks_per_second";
  charts.speed.show(times, [{label: hasSamples ? "samples/s" : "clocks/s", values: columns[name], color: color("accent"),
    fill: "origin", fillColor: color("accent-ground"), width: 2}], marks, `samples a second over time, ${count(last)} at last`);
  note("speed-note", hasSamples ? "of all workers" : "workers report no samples: clocks a second of the slowest");
}

function metricValues(name) {
  return name === "loss" || name === "staleness" ? run.series.columns[name] : run.series.metrics.get(name);
}

function drawMetric(times, marks) {
  const select = byId("metric");
  const names = ["loss", "staleness", ...[...run.series.metrics.keys()].filter((name) => name !== "loss" && name !== "staleness")];
  if (names.join() !== [...select.options].map((option) => option.value).join()) {
    const before = select.value;
    select.replaceChildren(...names.map((name) => element("option", {value: name, textContent: name.replaceAll("_", " ")})));
    select.value = names.includes(before) ? before : "loss";
  }
  const name = select.value;
  const values = metricValues(name) ?? [];
  const last = values.findLast?.(isNumber);
  charts.metric.show(times, [{label: name, values, color: color("accent"), width: 2}], marks, `${name} over time, ${brief(last)} at last`);
  note("metric-note", name === "staleness" ? "the largest of a pull so far, in clocks"
    : isNumber(last) ? `${brief(last)} at last, mean over the workers` : "workers have not reported it");
}

function drawShares(times, marks) {
  const {columns} = run.series;
  const lines = ["computes", "calls", "waits"].map((name) =>
    ({label: name, values: columns[name], color: color(name), fillColor: color(name), fill: "stack", width: 0.5}));
  charts.shares.show(times, lines, marks, `shares of the workers' time; waits ${percent(columns.waits.at(-1))} at last`);
  const {workersCount} = run.series;
  note("shares-note", `mean of ${count(workersCount)} workers` + (workersCount < 10 ? ""
    : `; eight in ten of them wait ${percent(columns.waits_low.at(-1))} to ${percent(columns.waits_high.at(-1))} of their time`));
}

// Of a job that has told nothing yet: not what another job has told.
function clearSeries() {
  for (const chart of [charts.speed, charts.metric, charts.shares, charts.late, charts.clock]) chart.show([], [], [], "nothing yet");
  for (const id of ["speed-note", "metric-note", "shares-note", "late-note", "clock-note"]) note(id, "nothing is known of this job yet");
}

function drawSeries() {
  const {series} = run;
  const marks = events.marks;
  if (!series || series.isEmpty) return clearSeries();
  const {times} = series;
  drawSpeed(times, marks);
  drawMetric(times, marks);
  drawShares(times, marks);
  charts.late.show(times, workerLines("late_ms"), marks, "by how many milliseconds a clock waited for each worker");
  note("late-note", `of a clock, on average: after the last but one; ${some()}`);
  const fastest = series.columns.clock_fastest;
  // Workers tell of their clocks one after another, so the differences may be larger than the policy lets them be.
  const most = clocksApartMost(chosenJob()?.policy);
  const behind = workerLines("clock", (clock, index) => (isNumber(clock) ? Math.min(most, Math.max(0, fastest[index] - clock)) : null));
  charts.clock.show(times, behind, marks, "clocks that each worker is behind the fastest");
  note("clock-note", `the fastest is at clock ${count(fastest.at(-1))}, the median at ${count(series.columns.clock_median.at(-1))}, ` +
    `the slowest at ${count(series.columns.clock_slowest.at(-1))}; ${some()}`);
}

// How many clocks a policy lets workers be apart: "bsp", "ssp(3)", "async".
function clocksApartMost(policy) {
  if (policy === "bsp") return 1;
  const staleness = /^ssp\((\d+)\)$/.exec(policy ?? "")?.[1];
  return staleness === undefined ? Infinity : Number(staleness) + 1;
}

function chosenJob() {
  return run.status.jobs.find((job) => job.name === run.chosen) ?? null;
}

function drawWorkers() {
  const job = chosenJob();
  const workers = workersOf(job, run.series);
  const isLive = job?.state === "running" && job.members?.length > 0;
  const total = isLive ? workers.length : Math.max(run.series?.workersCount ?? 0, workers.length);
  drawBars(charts.bars, workers, total, isLive);
  drawTable(workers, lateRanks(), total, isLive);
  drawStaleness(charts.staleness, job);
  drawShards(job, new Set(run.reasons.find((reason) => reason.job === run.chosen)?.shards ?? []));
}

function drawProcesses() {
  drawTopology(run.status, processesOf(run.status, logs.names, lateProcesses()), (name) => logs.show(name));
}

function drawHeader() {
  const {status} = run;
  setText(byId("cluster"), status.cluster);
  document.title = `${status.cluster || "a run"} – Tidegate`;
  const code = status.exit_code;
  setText(byId("state"), isNumber(code) ? `ended, exit code ${code}` : status.state);
  byId("state").className = `pill ${isNumber(code) ? (code === 0 ? "done" : "failed") : status.state}`;
  const waits = (status.waits ?? []).slice(0, 3).map((wait) => `${wait.waiter} has waited ${duration(wait.seconds)} for ${wait.awaited}`);
  setText(byId("summary"), waits.join("; "));
  byId("problem").hidden = !run.problem;
  setText(byId("problem"), run.problem ?? "");
}

function drawAll() {
  if (!run.status || charts === null) return;
  const jobs = run.status.jobs.length > 0 ? run.status.jobs : jobsOfHistory(run.names, run.series);
  drawHeader();
  drawJobs(jobs, run.chosen, choose);
  drawReasons(run.reasons);
  drawSeries();
  drawWorkers();
  drawProcesses();
}

const hasEnded = () => run.status.state === "ended" || run.status.state === "lost";

function choose(job) {
  run.chosen = job;
  run.series = null;
  feed.now();
}

// A history that is of an answer before this one goes on where that ended.
async function readHistory() {
  const job = run.chosen;
  const answer = await ask("/history.json", {job, since: run.series?.position ?? ""});
  run.names = answer.jobs;
  run.problem = answer.problem || run.status.problem;
  if (job !== run.chosen) return answer.whole;
  if (!answer.series) return answer.whole;
  run.chosen = answer.series.job;
  if (run.series?.job !== run.chosen) run.series = new Series(run.chosen);
  run.series.take(answer.series);
  return answer.whole;
}

async function round() {
  const isDue = run.rounds % NAMES_EVERY === 0;
  run.rounds += 1;
  run.status = await ask("/status.json");
  if (run.chosen === "") run.chosen = run.status.jobs[0]?.name ?? "";
  const [isWhole, happened, reasons] = await Promise.all([
    readHistory(), ask("/events.json", {since: String(events.next)}),
    ask("/reasons.json", {lines: String(hasEnded() ? REASON_LINES_AT_END : REASON_LINES)}),
    isDue ? logs.readNames() : null,
  ]);
  events.take(happened);
  run.reasons = reasons.jobs;
  byId("run").hidden = false;
  byId("key-form").hidden = true;
  drawAll();
  logs.prefer([...lateProcesses(run.chosen)][0]);
  await logs.read();
  document.body.dataset.ready = String(isWhole);
  if (!isWhole) return "again";
  return hasEnded() ? "ended" : "";
}

function showState({answers, keyWanted, since, pause, error}) {
  const link = byId("link");
  byId("retry").hidden = answers !== false;
  if (keyWanted) {
    byId("run").hidden = true;
    byId("key-form").hidden = false;
    setText(byId("key-problem"), hasKey() ? "This is not its key." : "");
    byId("key").focus();
  } else if (answers) {
    link.className = "link";
    setText(link, hasEnded() ? "" : "live");
  } else {
    link.className = "link bad";
    setText(link, error instanceof Refused ? `✕ ${error.message}` : `✕ no answer ${since ? `since ${timeOfDay(since)}` : "yet"}; it is asked again in ${Math.round(pause / 1000)} s`);
  }
}

const feed = new Feed(round, showState);

byId("retry").addEventListener("click", () => feed.now());
byId("metric").addEventListener("change", () => drawSeries());
byId("all-workers").addEventListener("change", () => drawWorkers());
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepKey(byId("key").value.trim());
  feed.now();
});
new ResizeObserver(() => run.status && charts && drawProcesses()).observe(byId("topology"));
setUpCharts(() => {
  makeCharts();
  drawAll();
});
makeCharts();
feed.now();
