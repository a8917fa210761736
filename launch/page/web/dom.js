// Elements and numbers. All text goes through textContent: what a run has written is never markup.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const grouping = new Intl.NumberFormat("en", {maximumFractionDigits: 0});

export function count(value) {
  return isNumber(value) ? grouping.format(value) : "–";
}

// Four digits, as people read them.
export function brief(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return grouping.format(value);
  if (size !== 0 && size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

export function percent(share) {
  return isNumber(share) ? `${Math.round(100 * share)}%` : "–";
}

export function milliseconds(value) {
  return isNumber(value) ? `${value >= 100 ? Math.round(value) : value.toFixed(1)} ms` : "–";
}

export function bytes(value) {
  if (!isNumber(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  const scaled = value / 1024 ** power;
  return `${power === 0 ? Math.round(scaled) : scaled.toFixed(1)} ${units[power]}`;
}

export function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${rest}s` : `${rest}s`;
}

const pad = (value) => String(value).padStart(2, "0");

export function timeOfDay(ms, withSeconds = true) {
  const at = new Date(ms);
  const text = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  return withSeconds ? `${text}:${pad(at.getSeconds())}` : text;
}

export function date(ms) {
  const at = new Date(ms);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}
