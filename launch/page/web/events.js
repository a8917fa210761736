// What has happened: the list, and the marks on the axes of time.
import {byId, date, element, timeOfDay} from "./dom.js";

const KEPT = 1000;
const SHOWN = 300;

const BAD = /(_died|_lost|_failed|_hangs|_condemned|_killed|_gone|_unreached|_silent|_given_up|_refused|_not_recorded)$/;
const GOOD = /(_restarted|_resumes|_resumed|_promoted|_in_sync|_back|_placed)$/;

export function kindOf(subject) {
  if (subject === "fault") return "fault";
  if (BAD.test(subject)) return "bad";
  if (GOOD.test(subject)) return "good";
  return "";
}

export const GLYPHS = {bad: "✕", good: "↻", fault: "⚡", "": ""};

export class Events {
  constructor() {
    this.all = [];
    this.next = 0;
    this.skipped = false;
    byId("marks-only").addEventListener("change", () => this.draw());
  }

  take(answer) {
    // The file is another: one that is shorter begins anew.
    if (answer.next < this.next) this.all = [];
    this.skipped = this.skipped || answer.skipped;
    this.next = answer.next;
    if (answer.events.length === 0) return;
    for (const event of answer.events)
      this.all.push({at: event.unix_ns / 1e6, subject: event.kind, detail: event.detail, kind: kindOf(event.kind)});
    if (this.all.length > KEPT) this.all.splice(0, this.all.length - KEPT);
    this.draw();
  }

  get marks() {
    return this.all.filter((event) => event.kind !== "");
  }

  draw() {
    const chosen = byId("marks-only").checked ? this.marks : this.all;
    const rows = chosen.slice(-SHOWN).reverse().map((event) => element("tr", {className: event.kind},
      element("td", {className: "time", title: date(event.at), textContent: timeOfDay(event.at)}),
      element("td", {className: "glyph", textContent: GLYPHS[event.kind]}),
      element("td", {className: "subject", textContent: event.subject.replaceAll("_", " ")}),
      element("td", {textContent: event.detail})));
    if (this.skipped || chosen.length > SHOWN)
      rows.push(element("tr", {}, element("td", {colSpan: 4, className: "quiet",
        textContent: "Earlier ones are in events.jsonl."})));
    if (rows.length === 0) rows.push(element("tr", {}, element("td", {className: "quiet", textContent: "Nothing yet."})));
    byId("events").replaceChildren(element("tbody", {}, ...rows));
  }
}
