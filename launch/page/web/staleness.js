// How stale what workers pulled was, as a histogram of shares.
import {byId, count, percent} from "./dom.js";
import {color} from "./charts.js";

// Ranges as the status has them; the last has no end.
const RANGES = ["0", "1", "2", "3", "4 to 7", "8 to 15", "16 to 31", "32 and more"];

export function drawStaleness(chart, job) {
  const counts = job?.staleness ?? [];
  const all = counts.reduce((sum, value) => sum + value, 0);
  // Those above the largest that has come are not worth a row.
  const rows = Math.max(1, 1 + counts.findLastIndex((value) => value > 0));
  const shares = RANGES.slice(0, rows).map((_, range) => (all === 0 ? 0 : counts[range] / all));
  chart.show(RANGES.slice(0, rows), [{label: "share", values: shares, color: color("accent")}],
    `staleness in clocks: ${percent(shares[0])} of what was pulled was fresh`);
  byId("staleness-note").textContent = all === 0 ? "nothing is known of it"
    : `clocks that the oldest push in it is behind, of ${count(all)} answers for a chunk each`;
}
