// Shards of a run and their replicas, as a table: how busy each is, what it takes and sends, and what waits there.
import {byId, bytes, count, element, milliseconds, percent} from "./dom.js";

// Workers on the shard's host read in place, and nothing is sent.
const sent = (shard) => (shard.in_place ? "in place" : bytes(shard.bytes_out_per_second));

const COLUMNS = [
  ["shard", (shard) => shard.process ? `${shard.shard}, ${shard.process}` : shard.shard], ["busy", (shard) => percent(shard.busy)],
  ["replica", (shard) => percent(shard.replica)], ["answers last", (shard) => percent(shard.answers_last)],
  ["late a clock", (shard) => milliseconds(1000 * shard.answers_last * shard.late_seconds)],
  ["in/s", (shard) => bytes(shard.bytes_in_per_second)], ["out/s", (shard) => sent(shard)],
  ["memory", (shard) => bytes(shard.resident_bytes)], ["queue", (shard) => count(shard.pushes_held)],
];

// Workers know nothing of replicas.
const OF_REPLICAS = COLUMNS.map(([name, cell]) => [name, ["shard", "busy", "in/s", "memory"].includes(name) ? cell : () => ""]);

function rowOf(shard, columns, isLate) {
  return element("tr", {className: isLate ? "late" : ""}, ...columns.map(([name, cell]) => element(name === "shard" ? "th" : "td",
    name === "shard" ? {scope: "row", textContent: `${isLate ? "▲ " : ""}${cell(shard)}`} : {textContent: cell(shard)})));
}

// `late`: numbers of those that hold the job up. Of a job that does not run nothing is known.
export function drawShards(job, late) {
  const runs = job?.state === "running";
  const shards = runs ? job.shards ?? [] : [];
  const head = element("tr", {}, ...COLUMNS.map(([name]) => element("th", {scope: "col", textContent: name})));
  const replicas = runs ? job.replicas ?? [] : [];
  const rows = shards.flatMap((shard) => [rowOf(shard, COLUMNS, late.has(shard.shard)),
    ...replicas.filter((replica) => replica.shard === shard.shard).map((replica) => rowOf(replica, OF_REPLICAS, false))]);
  byId("shards").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  byId("shards-note").textContent = shards.length > 0 ? "the last five seconds"
    : runs ? "they have not told anything yet" : "nothing is known of them while this job does not run";
}
