// Asks the run, once in a second as long as somebody looks; less often where it does not answer or has ended.

const PAUSE_MS = 1000;
const PAUSE_AT_END_MS = 10000;
const PAUSE_MOST_MS = 30000;
const ANSWER_MS = 10000;
const KEY = "tidegate-key";

class KeyWanted extends Error {}
export class Refused extends Error {}

export function keepKey(key) {
  sessionStorage.setItem(KEY, key);
}

export function hasKey() {
  return sessionStorage.getItem(KEY) !== null;
}

// Without credentials of the browser's own, which would ask for a password in a window of its own.
export async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));
  const key = sessionStorage.getItem(KEY);
  const answer = await fetch(String(query) === "" ? path : `${path}?${query}`, {
    credentials: "omit",
    cache: "no-store",
    signal: AbortSignal.timeout(ANSWER_MS),
    headers: key === null ? {} : {Authorization: `Bearer ${key}`},
  });
  if (answer.status === 401) throw new KeyWanted();
  if (answer.status === 403) throw new Refused(await answer.text());
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

// Calls `round` again and again. It returns "again" if there is more at once, "ended" if little will change.
export class Feed {
  constructor(round, onState) {
    this.round = round;
    this.onState = onState;
    this.failures = 0;
    this.timer = 0;
    this.isAsking = false;
    this.answeredAt = 0;
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.now();
    });
  }

  now() {
    clearTimeout(this.timer);
    this.turn();
  }

  async turn() {
    if (this.isAsking || document.visibilityState !== "visible") return;
    this.isAsking = true;
    let pause = PAUSE_MS;
    try {
      const result = await this.round();
      this.failures = 0;
      this.answeredAt = Date.now();
      if (result === "again") pause = 0;
      if (result === "ended") pause = PAUSE_AT_END_MS;
      this.onState({answers: true});
    } catch (error) {
      if (error instanceof KeyWanted) {
        this.onState({keyWanted: true});
        return;
      }
      this.failures += 1;
      pause = Math.min(PAUSE_MS * 2 ** (this.failures - 1), PAUSE_MOST_MS);
      this.onState({answers: false, since: this.answeredAt, pause, error});
    } finally {
      this.isAsking = false;
    }
    this.timer = setTimeout(() => this.turn(), pause);
  }
}
