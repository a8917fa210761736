// Shards of a run, as a table: how busy each is, what it takes and sends, and what waits there.
import {byId, bytes, count, element, milliseconds, percent} from "./dom.js";

const COLUMNS = [
  ["shard", (shard) => shard.shard], ["busy", (shard) => percent(shard.busy)],
  ["replica", (shard) => percent(shard.replica)], ["answers last", (shard) => percent(shard.answers_last)],
  ["late a clock", (shard) => milliseconds(1000 * shard.answers_last * shard.late_seconds)],
  ["in/s", (shard) => bytes(shard.bytes_in_per_second)], ["out/s", (shard) => bytes(shard.bytes_out_per_second)],
  ["memory", (shard) => bytes(shard.resident_bytes)], ["queue", (shard) => count(shard.pushes_held)],
];

// `late`: numbers of those that hold the job up. Of a job that does not run nothing is known.
export function drawShards(job, late) {
  const runs = job?.state === "running";
  const shards = runs ? job.shards ?? [] : [];
  const head = element("tr", {}, ...COLUMNS.map(([name]) => element("th", {scope: "col", textContent: name})));
  const rows = shards.map((shard) => element("tr", {className: late.has(shard.shard) ? "late" : ""},
    ...COLUMNS.map(([name, cell]) => element(name === "shard" ? "th" : "td",
      name === "shard" ? {scope: "row", textContent: `${late.has(shard.shard) ? "▲ " : ""}${cell(shard)}`} : {textContent: cell(shard)}))));
  byId("shards").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  byId("shards-note").textContent = shards.length > 0 ? "the last five seconds"
    : runs ? "they have not told anything yet" : "nothing is known of them while this job does not run";
}
