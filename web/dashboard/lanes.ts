// Workers, each a lane: what it did in the last two minutes, and what it runs now.

import { restart } from "./actions";
import { byId, Keyed, make, plain, say } from "./dom";
import { SHOWN, type History } from "./history";
import type { Running, Session, Worker } from "./snapshot";
import { bytes, count, time } from "./units";

/** More are counted, and not shown. */
const MOST = 64;

const runs = (request: Running): string => {
  const asked = request.method ? `${request.method} ${request.path}` : request.route || "its client has left";
  const route = request.route && request.route !== request.path ? ` (${request.route})` : "";
  return plain(`${asked}${route} for ${time(request.seconds)}, request ${request.id}`);
};

const visit = ({ client, age, idle }: Session): string =>
  plain(`session of ${client} for ${time(age)}, idle for ${time(idle)}`);

/** The states as a strip: from the left edge, SHOWN seconds ago, to now. */
function strip(history: History, pid: number, now: number): string {
  const states = history.statesOf(pid);
  const percent = (at: number) => `${Math.max(0, 100 * (1 - (now - at) / SHOWN)).toFixed(2)}%`;
  const stops = states.map(({ at, state }, i) => {
    // a snapshot says how it was until then
    const before = states[i - 1]?.at ?? at - 1;
    return `var(--${state}) ${percent(before)} ${percent(at)}`;
  });
  const first = states[0]?.at ?? now;
  return `linear-gradient(to right, transparent 0 ${percent(first - 1)}, ${stops.join(", ")})`;
}

export class Lanes {
  private mayAct = false;
  private now = 0;

  private readonly lanes: Keyed<Worker>;

  constructor(private readonly history: History) {
    this.lanes = new Keyed<Worker>(
      byId("workers"),
      (worker) => worker.pid,
      (worker) => this.lane(worker),
      (lane, worker) => this.update(lane, worker),
    );
  }

  private lane(worker: Worker): HTMLElement {
    const button = make("button", "", "Replace");
    button.type = "button";
    button.setAttribute("aria-label", `Replace worker ${worker.pid}`);
    button.addEventListener("click", () => void restart(worker.pid));
    const bar = make("div", "strip");
    bar.setAttribute("aria-hidden", "true");
    const lane = make("li", "", make("strong"), bar, button, make("div", "facts"), make("div", "runs"));
    lane.dataset["pid"] = String(worker.pid);
    return lane;
  }

  private update(lane: HTMLElement, worker: Worker): void {
    const [name, bar, button, facts, running] = lane.children as unknown as HTMLElement[];
    if (!name || !bar || !button || !facts || !running) return;
    const state = worker.alive ? worker.state : "gone";
    lane.dataset["state"] = state;
    say(name, `${worker.pid}: ${state}`);
    bar.style.backgroundImage = strip(this.history, worker.pid, this.now);
    button.hidden = !this.mayAct;
    const promises = worker.promises > 0 ? `, ${count(worker.promises)} promises` : "";
    const answered = `${count(worker.requests)} requests, ${count(worker.errors)} errors`;
    say(
      facts,
      `${worker.pool ? `pool ${worker.pool}, ` : ""}generation ${worker.generation}, ${answered}${promises}, ` +
        `busy ${(100 * worker.busy).toFixed(0)} %, ${bytes(worker.memory)}, ${time(worker.age)} old`,
    );
    say(running, [...(worker.sessions ?? []).map(visit), ...worker.runs.map(runs)].join("\n"));
  }

  show(workers: Worker[], mayAct: boolean, now: number): void {
    this.mayAct = mayAct;
    this.now = now;
    this.lanes.show(workers.slice(0, MOST));
    say(byId("more-workers"), workers.length > MOST ? `and ${count(workers.length - MOST)} more` : "");
  }
}
