// A card for each job, and the sentence of `tidegate why`.
import {brief, byId, count, duration, element, isNumber} from "./dom.js";

const JOBS_SHOWN = 24;

function progress(job) {
  const done = job.clock_slowest ?? job.clocks ?? 0;
  const total = job.clocks_total ?? (job.state === "done" ? job.clocks : null);
  return {done, total, share: isNumber(total) && total > 0 ? Math.min(1, done / total) : null};
}

function secondsLeft(job) {
  const {done, total} = progress(job);
  const rate = job.last_seconds?.clocks_per_second;
  return isNumber(total) && rate > 0 && job.state === "running" ? (total - done) / rate : null;
}

function fact(name, value) {
  return element("div", {className: "fact"}, element("dt", {textContent: name}), element("dd", {textContent: value}));
}

function card(job, isChosen, choose) {
  const {done, total, share} = progress(job);
  const left = secondsLeft(job);
  const rate = job.state === "running" && job.samples_per_second !== null ? job.last_seconds?.samples_per_second : job.samples_per_second;
  const bar = element("progress", {max: 1});
  bar.setAttribute("aria-label", `clocks of job ${job.name}`);
  bar.value = share ?? 0;
  const node = element("article", {className: `card${isChosen ? " chosen" : ""}`},
    element("div", {className: "card-head"},
      element("h2", {}, element("button", {type: "button", textContent: job.name, ariaPressed: String(isChosen),
        title: "Show this job in the charts", onclick: () => choose(job.name)})),
      element("span", {className: "tag", textContent: job.policy}),
      element("span", {className: `pill ${job.state}`, textContent: job.state}),
      element("span", {className: "left", textContent: left === null ? "" : `${duration(left)} left`})),
    element("div", {className: "clock-line"}, share === null ? null : bar,
      element("span", {textContent: `clock ${count(done)}${isNumber(total) ? ` of ${count(total)}` : ""}`})),
    element("dl", {className: "facts"},
      fact("samples/s", count(rate)),
      fact("clocks/s", brief(job.state === "running" ? job.last_seconds?.clocks_per_second : done / job.wall_seconds)),
      fact("loss", brief(job.loss)),
      ...(isNumber(job.test_accuracy) ? [fact("test accuracy", brief(job.test_accuracy))] : []),
      fact("staleness", isNumber(job.staleness_max) ? `${job.staleness_max} at most` : "–"),
      ...(isNumber(job.workers) ? [fact("workers", `${job.workers_joined} of ${job.workers}`)] : []),
      ...(isNumber(job.restarts) ? [fact("restarts", count(job.restarts))] : []),
      fact("time", duration(job.wall_seconds))));
  if (job.failure) node.append(element("p", {className: "bad failure", textContent: job.failure}));
  return node;
}

// Cards are made anew only where they change, so that the focus stays where it is.
let drawn = "";

export function drawJobs(jobs, chosen, choose) {
  const facts = JSON.stringify([jobs.map(({members, ...rest}) => rest), chosen]);
  if (facts === drawn) return;
  drawn = facts;
  const focused = document.activeElement?.closest?.("#jobs button")?.textContent;
  const cards = jobs.slice(0, JOBS_SHOWN).map((job) => card(job, job.name === chosen, choose));
  byId("jobs").replaceChildren(...cards);
  if (focused) [...document.querySelectorAll("#jobs button")].find((button) => button.textContent === focused)?.focus();
}

// Of a run that has left no result, what its history says.
export function jobsOfHistory(names, series) {
  return names.map((name) => {
    const known = series?.job === name;
    return {name, policy: "", state: "lost", clocks: known ? series.last("clock_slowest") : undefined,
      loss: known ? series.last("loss") : null, staleness_max: known ? series.last("staleness") : undefined,
      samples_per_second: known ? series.last("samples_per_second") : undefined};
  });
}

export function drawReasons(jobs) {
  const lines = [];
  for (const {job, seconds, reasons, held_up: heldUp} of jobs) {
    const over = `over the last ${duration(seconds)}`;
    for (const [index, reason] of reasons.slice(0, 3).entries())
      lines.push(element("p", {className: index === 0 && heldUp > 0 ? "reason late" : "reason"},
        element("span", {className: "mark", textContent: index === 0 && heldUp > 0 ? "▲" : "△"}),
        element("span", {}, element("strong", {textContent: `${job}: `}), `${reason}. `,
          element("span", {className: "quiet", textContent: over}))));
    if (reasons.length > 3)
      lines.push(element("p", {className: "quiet", textContent: `and ${reasons.length - 3} more: tidegate why`}));
    if (heldUp === 0)
      lines.push(element("p", {className: "reason"}, element("span", {className: "mark good", textContent: "✓"}),
        element("span", {}, element("strong", {textContent: `${job}: `}), "nobody holds it up, no worker and no shard, ",
          element("span", {className: "quiet", textContent: over}))));
  }
  const place = byId("reasons");
  const text = lines.map((line) => line.textContent).join("\n");
  if (place.dataset.text === text) return;
  place.dataset.text = text;
  place.replaceChildren(...lines);
}
