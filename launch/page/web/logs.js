// The end of a process's log.
import {byId, element, setText} from "./dom.js";
import {ask} from "./feed.js";

export class Logs {
  constructor() {
    this.names = [];
    this.shown = "";
    this.isChosen = false;
    byId("process").addEventListener("change", () => {
      this.isChosen = true;
      this.read();
    });
  }

  async readNames() {
    const {processes} = await ask("/log.json");
    if (processes.join() === this.names.join()) return;
    this.names = processes;
    const select = byId("process");
    const chosen = select.value;
    select.replaceChildren(...processes.map((name) => element("option", {value: name, textContent: name})));
    if (processes.includes(chosen)) select.value = chosen;
    else select.value = processes.find((name) => name.startsWith("worker-")) ?? processes[0] ?? "";
  }

  // Shows that of a process which the job waits for, once, unless somebody has chosen another.
  prefer(name) {
    if (this.isChosen || !this.names.includes(name)) return;
    this.isChosen = true;
    byId("process").value = name;
  }

  show(name) {
    if (!this.names.includes(name)) return;
    this.isChosen = true;
    byId("process").value = name;
    byId("log").scrollIntoView({block: "nearest"});
    this.read();
  }

  async read() {
    const process = byId("process").value;
    if (process === "") return;
    const answer = await ask("/log.json", {process});
    if (byId("process").value !== process) return;
    const log = byId("log");
    const follows = process !== this.shown || log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
    this.shown = process;
    setText(log, answer.text === "" ? "It has written nothing." : answer.text);
    if (follows) log.scrollTop = log.scrollHeight;
  }
}
