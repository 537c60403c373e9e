// The dashboard: what the server sends is kept (history.ts) and shown (charts.ts, lanes.ts, jobs.ts, tables.ts). While nobody
// sees the page it listens to nothing, and costs nothing.

import * as actions from "./actions";
import { Charts } from "./charts";
import { byId, say } from "./dom";
import { History } from "./history";
import { Jobs } from "./jobs";
import { Lanes } from "./lanes";
import type { Message } from "./snapshot";
import { Tables } from "./tables";
import { time } from "./units";

/** Before another try, where the browser has given up. */
const AGAIN_AFTER_MS = 2000;

const history = new History();
const charts = new Charts();
const lanes = new Lanes(history);
const jobs = new Jobs();
const tables = new Tables();
let source: EventSource | undefined;
let again: number | undefined;

function link(state: "live" | "lost" | "waiting", text: string): void {
  byId("link").dataset["state"] = state;
  say(byId("link"), text);
}

function hear(message: Message): void {
  const point = history.add(message);
  link("live", "live");
  say(byId("server"), `version ${message.version}, process ${message.pid}, up ${time(message.age)}`);
  charts.show(history);
  lanes.show(message.snapshot.workers, message.actions, point.at);
  jobs.show(message.snapshot.jobs ?? {}, message.jobs, message.actions);
  tables.show(history, point);
  actions.show(message.actions);
}

function open(): void {
  close();
  source = new EventSource("events");
  source.onmessage = (event: MessageEvent<string>) => hear(JSON.parse(event.data) as Message);
  source.onerror = () => {
    link("lost", "the server does not answer; trying again");
    if (source?.readyState === EventSource.CLOSED) again = window.setTimeout(open, AGAIN_AFTER_MS);
  };
}

function close(): void {
  window.clearTimeout(again);
  source?.close();
}

actions.listen();
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
open();
