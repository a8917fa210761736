// Processes and who talks to whom: control at the top, then workers, aggregators, shards and replicas.
import {byId, element} from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const TIERS = ["worker", "aggregator", "shard", "replica"];
const TITLES = {worker: "workers", aggregator: "aggregators", shard: "shards", replica: "replicas"};
const NAMED_MOST = 24;     // nodes of a tier that have room for their names
const LINES_MOST = 64;     // between two tiers; more become one
const [GAP, PAD, HEAD, BETWEEN] = [6, 10, 16, 34];
export const STATES = {up: "●", late: "▲", gone: "✕", finished: "✓", ended: "■", starting: "○"};
const WORDS = {up: "is up", late: "others wait for it", gone: "is not there", finished: "has finished", ended: "has ended", starting: "has not joined yet"};

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function parse(name) {
  const worker = /^(worker|aggregator)-(.+)-(\d+)$/.exec(name);
  if (worker) return {name, role: worker[1], job: worker[2], number: Number(worker[3])};
  const server = /^(shard|replica|coordinator)-(\d+)$/.exec(name);
  return server ? {name, role: server[1], job: "", number: Number(server[2])} : null;
}

function stateOf(process, live, jobs, late, hasEnded) {
  const job = jobs.get(process.job);
  if (process.role === "worker") {
    const member = job?.members?.find((candidate) => candidate.rank === process.number);
    if (member?.finished || job?.state === "done") return "finished";
    if (late.has(process.name) && live.has(process.name)) return "late";
    if (live.has(process.name)) return member && !member.joined ? "starting" : "up";
  }
  if (live.has(process.name)) return late.has(process.name) ? "late" : "up";
  return hasEnded ? "ended" : "gone";
}

// All that the run has, or had: those that live, and those that have a log.
export function processesOf(status, logNames, late) {
  const live = new Map((status.processes ?? []).map((process) => [process.name, process]));
  const jobs = new Map((status.jobs ?? []).map((job) => [job.name, job]));
  const hasEnded = status.state === "ended" || status.state === "lost";
  return [...new Set([...live.keys(), ...logNames])].map(parse).filter((process) => process !== null)
    .map((process) => ({...process, host: live.get(process.name)?.host ?? "", pid: live.get(process.name)?.pid,
      state: stateOf(process, live, jobs, late, hasEnded)}))
    .sort((a, b) => a.job.localeCompare(b.job) || a.number - b.number);
}

function label(process, severalJobs) {
  if (process.role === "coordinator") return "coordinator";
  return `${process.role === "worker" || process.role === "aggregator" ? (severalJobs ? `${process.job} ` : "") : ""}` +
    `${process.role} ${process.number}`;
}

// Each row of its own.
function centre(nodes, left, right) {
  for (const y of new Set(nodes.map((node) => node.y))) {
    const row = nodes.filter((node) => node.y === y);
    const last = row.at(-1);
    const shift = (right - left - (last.x + last.width - row[0].x)) / 2 - (row[0].x - left);
    for (const node of row) node.x += shift;
  }
}

// Boxes of the processes of a tier, host by host, in as many rows as they need.
function placeTier(processes, top, left, right, severalJobs) {
  const isNamed = processes.length <= NAMED_MOST;
  const texts = processes.map((process) => (isNamed ? label(process, severalJobs) : String(process.number)));
  const width = isNamed ? Math.max(...texts.map((text) => text.length)) * 6.6 + 30 : 34;
  const height = isNamed ? 28 : 20;
  const nodes = [];
  let [x, y] = [left + PAD, top + HEAD];
  processes.forEach((process, index) => {
    if (x + width > right - PAD && x > left + PAD) [x, y] = [left + PAD, y + height + GAP];
    nodes.push({process, text: texts[index], isNamed, x, y, width, height});
    x += width + GAP;
  });
  centre(nodes, left, right);
  return {nodes, top, left, right, bottom: y + height + PAD};
}

function drawNode(node, onChoose) {
  const {process, x, y, width, height} = node;
  const group = shape("g", {class: `node ${process.state}`},
    shape("title", {}), shape("rect", {x, y, width, height, rx: 5}));
  group.firstChild.textContent = `${process.name}${process.host ? ` on ${process.host}` : ""}` +
    `${process.pid ? `, pid ${process.pid}` : ""}: ${WORDS[process.state]}`;
  const text = shape("text", {x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle"});
  text.textContent = node.isNamed ? `${STATES[process.state]} ${node.text}`
    : `${process.state === "late" || process.state === "gone" ? STATES[process.state] : ""}${node.text}`;
  group.append(text);
  group.addEventListener("click", () => onChoose(process.name));
  return group;
}

function line(from, to, kind) {
  const middle = (from.y + to.y) / 2;
  return shape("path", {class: `edge ${kind}`, d: `M${from.x} ${from.y}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`});
}

const below = (node) => ({x: node.x + node.width / 2, y: node.y + node.height});
const above = (node) => ({x: node.x + node.width / 2, y: node.y});
const kindOfEdge = (...ends) => ["gone", "ended", "finished", "starting", "late"].find((state) => ends.some((end) => end.process.state === state)) ?? "up";

function connect(upper, lower, edges) {
  const pairs = upper.nodes.flatMap((from) => lower.nodes.map((to) => [from, to]))
    .filter(([from, to]) => (lower.role === "aggregator" ? from.process.job === to.process.job &&
        (from.process.host === to.process.host || !to.process.host) : lower.role !== "replica" || from.process.number === to.process.number));
  if (pairs.length <= LINES_MOST) {
    edges.push(...pairs.map(([from, to]) => line(below(from), above(to), kindOfEdge(from, to))));
    return;
  }
  const middle = (upper.left + upper.right) / 2;
  const isUp = upper.nodes.some((node) => node.process.state === "up" || node.process.state === "late");
  edges.push(line({x: middle, y: upper.bottom}, {x: middle, y: lower.top}, `many ${isUp ? "up" : "ended"}`));
}

function drawControl(control, hosts, right, onChoose, canvas) {
  let x = 0;
  const boxes = [];
  for (const {text, process} of control) {
    const width = text.length * 6.6 + 34;
    boxes.push({process, text, isNamed: true, x, y: 8, width, height: 28});
    x += width + 40;
  }
  centre(boxes, 0, right);
  for (const [from, to] of boxes.slice(1).map((box, index) => [boxes[index], box]))
    canvas.append(shape("path", {class: "edge control", d: `M${from.x + from.width} 22H${to.x}`}));
  for (const box of boxes) canvas.append(drawNode(box, onChoose));
  const text = hosts.map((host) => `${host.state === "up" ? STATES.up : STATES.gone} ${host.name} ${host.state}`).join("   ");
  if (text === "") return boxes.at(-1);
  const hostsText = shape("text", {class: "hosts", x: right / 2, y: 50, "text-anchor": "middle"});
  hostsText.textContent = `hosts: ${text}`;
  canvas.append(hostsText);
  return boxes.at(-1);
}

let drawn = "";

export function drawTopology(status, processes, onChoose) {
  const place = byId("topology");
  const width = Math.max(320, place.clientWidth);
  const hosts = status.hosts ?? [];
  const facts = JSON.stringify([width, hosts, status.state, processes.map(({name, state, host, pid}) => [name, state, host, pid])]);
  if (facts === drawn) return;
  drawn = facts;
  const severalJobs = new Set(processes.filter((process) => process.role === "worker").map((process) => process.job)).size > 1;
  const isOver = status.state === "ended" || status.state === "lost";
  const canvas = shape("svg", {role: "img"});
  const control = [{text: "launcher", process: {name: "launcher", role: "launcher", state: isOver ? (status.state === "lost" ? "gone" : "ended") : "up"}},
    ...processes.filter((process) => process.role === "coordinator").map((process) => ({text: "coordinator", process}))];
  const tiers = [];
  let top = 8 + 28 + 26;
  for (const role of TIERS) {
    const own = processes.filter((process) => process.role === role);
    if (own.length === 0) continue;
    const tier = {role, ...placeTier(own, top, 1, width - 1, severalJobs)};
    tiers.push(tier);
    top = tier.bottom + BETWEEN;
  }
  const edges = [];
  tiers.slice(1).forEach((tier, index) => connect(tiers[index], tier, edges));
  for (const tier of tiers) {
    const text = shape("text", {class: "tier", x: tier.left + PAD, y: tier.top + 12});
    text.textContent = `${tier.nodes.length} ${TITLES[tier.role]}`;
    canvas.append(shape("rect", {class: "tier", x: tier.left, y: tier.top, width: tier.right - tier.left,
      height: tier.bottom - tier.top, rx: 8}), text);
  }
  const last = drawControl(control, hosts, width, onChoose, canvas);
  if (tiers.length > 0)
    canvas.append(shape("path", {class: "edge control", d: `M${last.x + last.width / 2} 36V${tiers[0].top}`}));
  canvas.append(...edges);
  for (const tier of tiers) canvas.append(...tier.nodes.map((node) => drawNode(node, onChoose)));
  const height = (tiers.at(-1)?.bottom ?? 40) + 2;
  canvas.setAttribute("viewBox", `0 0 ${width} ${height}`);
  canvas.setAttribute("width", width);
  canvas.setAttribute("height", height);
  const counts = TIERS.map((role) => processes.filter((process) => process.role === role).length);
  const odd = processes.filter((process) => process.state === "late" || process.state === "gone").map((process) => `${process.name} ${WORDS[process.state]}`);
  canvas.setAttribute("aria-label", `${TIERS.map((role, index) => `${counts[index]} ${TITLES[role]}`).join(", ")}${odd.length > 0 ? `; ${odd.join(", ")}` : ""}`);
  place.replaceChildren(canvas);
  byId("process-legend").replaceChildren(...Object.entries({up: "up", late: "others wait for it", gone: "not there", finished: "finished", ended: "ended"})
    .map(([state, words]) => element("span", {className: `key ${state}`, textContent: `${STATES[state]} ${words}`})));
}
