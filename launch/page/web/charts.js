// Chart.js, set up once for all charts: axes of time, marks of events, colours of the scheme.
/* global Chart */
import {byId, timeOfDay} from "./dom.js";
import {GLYPHS} from "./events.js";

const scheme = matchMedia("(prefers-color-scheme: dark)");
let colors = {};

// Okabe and Ito's colours, told apart also by those who see fewer.
function readColors() {
  const style = getComputedStyle(document.documentElement);
  colors = {};
  for (const name of ["ink", "quiet", "line", "panel", "computes", "calls", "waits", "bad", "good", "fault", "accent", "accent-ground"])
    colors[name] = style.getPropertyValue(`--${name}`).trim();
  colors.series = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => style.getPropertyValue(`--series-${number}`).trim());
}

export const color = (name) => colors[name];
export const seriesColor = (index) => colors.series[index % colors.series.length];

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function timeTicks(axis) {
  const room = Math.max(2, Math.floor(axis.width / 84));
  const seconds = (axis.max - axis.min) / 1000;
  const step = 1000 * (STEPS_S.find((candidate) => seconds / candidate <= room) ?? 86400);
  axis.ticks = [];
  for (let at = Math.ceil(axis.min / step) * step; at <= axis.max; at += step) axis.ticks.push({value: at});
}

// Lines at the times of deaths, recoveries and faults, with a glyph on top.
const marksPlugin = {
  id: "marks",
  afterDatasetsDraw(chart) {
    const {ctx, chartArea, scales} = chart;
    if (!chart.marks || !scales.x) return;
    ctx.save();
    ctx.font = "11px sans-serif";
    ctx.textAlign = "center";
    let [lineEnd, textEnd] = [-Infinity, -Infinity];
    for (const mark of chart.marks) {
      if (mark.at < scales.x.min || mark.at > scales.x.max) continue;
      const x = scales.x.getPixelForValue(mark.at);
      ctx.strokeStyle = ctx.fillStyle = colors[mark.kind];
      if (x - lineEnd >= 3) {
        lineEnd = x;
        ctx.globalAlpha = 0.75;
        ctx.setLineDash([3, 3]);
        ctx.beginPath();
        ctx.moveTo(x, chartArea.top);
        ctx.lineTo(x, chartArea.bottom);
        ctx.stroke();
      }
      const text = Math.max(x, textEnd + 11);
      if (text - x > 34) continue;
      textEnd = text;
      ctx.globalAlpha = 1;
      ctx.fillText(GLYPHS[mark.kind], text, chartArea.top - 3);
    }
    ctx.restore();
  },
};

function marksNear(chart, at) {
  const {x} = chart.scales;
  const reach = 8 * (x.max - x.min) / Math.max(1, x.width);
  return (chart.marks ?? []).filter((mark) => Math.abs(mark.at - at) <= reach).slice(-4)
    .map((mark) => `${GLYPHS[mark.kind]} ${timeOfDay(mark.at)} ${mark.subject.replaceAll("_", " ")}: ${mark.detail.slice(0, 60)}`);
}

function commonOptions(format, {stacked = false, max, legend = true, whole = false} = {}) {
  return {
    animation: false, responsive: true, maintainAspectRatio: false, normalized: true,
    interaction: {mode: "index", intersect: false},
    layout: {padding: {top: 12}},
    elements: {point: {radius: 0, hitRadius: 6}, line: {borderWidth: 1.75, tension: 0}},
    plugins: {
      legend: {display: legend, position: "bottom", labels: {boxWidth: 10, boxHeight: 10, padding: 10}},
      tooltip: {
        itemSort: (left, right) => (right.parsed.y ?? 0) - (left.parsed.y ?? 0),
        callbacks: {
          label: (item) => `${item.dataset.label}: ${format(item.parsed.y)}`,
        },
      },
    },
    scales: {
      y: {stacked, max, beginAtZero: true, suggestedMax: whole ? 4 : undefined, grid: {drawBorder: false},
        ticks: {maxTicksLimit: 6, precision: whole ? 0 : undefined, callback: (value) => format(value)}},
    },
  };
}

export class TimeChart {
  constructor(id, format, options = {}) {
    this.id = id;
    this.format = format;
    this.options = options;
    this.marks = [];
    this.make();
  }

  make() {
    const options = commonOptions(this.format, this.options);
    options.parsing = false;
    options.scales.x = {
      type: "linear", bounds: "data", offset: false, grid: {display: false}, afterBuildTicks: timeTicks,
      ticks: {autoSkip: false, maxRotation: 0, callback: (value) => timeOfDay(value, this.span < 3600 * 1000)},
    };
    options.plugins.tooltip.callbacks.title = (items) => (items.length > 0 ? timeOfDay(items[0].parsed.x) : "");
    options.plugins.tooltip.callbacks.footer = (items) => (items.length > 0 ? marksNear(this.chart, items[0].parsed.x) : []);
    this.chart = new Chart(byId(this.id), {type: "line", data: {datasets: []}, options, plugins: [marksPlugin]});
  }

  // `lines`: {label, values, color, fill, width}; one that is given again keeps whether it is shown.
  show(times, lines, marks, description) {
    this.span = times.length > 1 ? times.at(-1) - times[0] : 0;
    const before = new Map(this.chart.data.datasets.map((set) => [set.label, set]));
    this.chart.data.datasets = lines.map((line) => Object.assign(before.get(line.label) ?? {}, {
      label: line.label,
      data: times.map((at, index) => ({x: at, y: line.values[index]})),
      borderColor: line.color, backgroundColor: line.fillColor ?? line.color,
      fill: line.fill ?? false, borderWidth: line.width ?? 1.75, order: line.order ?? 0, spanGaps: true,
    }));
    this.chart.marks = marks;
    this.chart.update("none");
    byId(this.id).setAttribute("aria-label", description);
  }
}

export class BarChart {
  constructor(id, format) {
    this.id = id;
    this.format = format;
    this.make();
  }

  make() {
    const options = commonOptions(this.format, {});
    options.indexAxis = "y";
    options.scales = {
      x: {stacked: true, min: 0, max: 1, grid: {drawBorder: false}, ticks: {callback: (value) => this.format(value)}},
      y: {stacked: true, grid: {display: false, drawBorder: false}, ticks: {autoSkip: false}},
    };
    options.plugins.tooltip.itemSort = undefined;
    options.plugins.tooltip.callbacks.label = (item) => `${item.dataset.label}: ${this.format(item.parsed.x)}`;
    this.chart = new Chart(byId(this.id), {type: "bar", data: {labels: [], datasets: []}, options});
  }

  show(labels, bars, description) {
    this.chart.data.labels = labels;
    this.chart.data.datasets = bars.map((bar, index) => Object.assign(this.chart.data.datasets[index] ?? {}, {
      label: bar.label, data: bar.values, backgroundColor: bar.color, barPercentage: 0.9, categoryPercentage: 0.9, maxBarThickness: 22,
    }));
    this.chart.update("none");
    byId(this.id).setAttribute("aria-label", description);
  }
}

// Calls `again` where the scheme changes.
export function setUpCharts(again) {
  const apply = () => {
    readColors();
    Chart.defaults.color = colors.quiet;
    Chart.defaults.borderColor = colors.line;
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 11;
    Chart.defaults.plugins.tooltip.backgroundColor = colors.ink;
    for (const part of ["titleColor", "bodyColor", "footerColor"]) Chart.defaults.plugins.tooltip[part] = colors.panel;
    Chart.defaults.plugins.tooltip.footerFont = {weight: "normal"};
  };
  apply();
  scheme.addEventListener("change", () => {
    apply();
    again();
  });
}
