// Figures of now, routes, and errors.

import { byId, Keyed, make, plain, say } from "./dom";
import type { History, Point } from "./history";
import { replay } from "./replay";
import type { LoggedError } from "./snapshot";
import { bytes, count, rate, time } from "./units";

/** Routes that are shown. */
const ROUTES = 10;

const known = (figures: Record<string, number>): string =>
  Object.entries(figures).map(([name, n]) => `${name.replace(/_/g, " ")} ${count(n)}`).join(", ");

/** An error, and whether its request can be played again. */
interface ShownError extends LoggedError { replayable: boolean }

/** A list of terms, whose values change. */
function facts(point: Point): [string, string][] {
  const { snapshot } = point.message;
  const figures = snapshot.figures;
  const sessions = snapshot.workers.reduce((n, worker) => n + (worker.sessions?.length ?? 0), 0);
  const busy = snapshot.workers.filter((worker) => worker.state === "busy").length;
  return [
    ["requests/s", rate(point.requests)],
    ["errors/s", rate(point.errors)],
    ["waiting", `${count(snapshot.waiting)} of ${count(snapshot.max_queue)}`],
    ["busy workers", `${count(busy)} of ${count(snapshot.workers.length)}`],
    ["connections", count(snapshot.connections)],
    ["open requests", count(figures.open)],
    ["streams", count(figures.streams)],
    ["WebSockets", count(figures.websockets)],
    ...(sessions > 0 ? [["sessions", count(sessions)] as [string, string]] : []),
    ["received/s", bytes(point.received)],
    ["sent/s", bytes(point.sent)],
    ["server's memory", bytes(figures.memory)],
  ];
}

export class Tables {
  private readonly now = new Keyed<[string, string]>(
    byId("now"),
    ([name]) => name,
    ([name]) => make("div", "", make("dt", "", name), make("dd")),
    (entry, [, value]) => say(entry.lastElementChild as Element, value),
  );

  private readonly routes = new Keyed<string[]>(
    byId("routes"),
    (cells) => cells[0] ?? "",
    (cells) => make("tr", "", ...cells.map(() => make("td"))),
    (row, cells) => cells.forEach((text, i) => say(row.children[i] as Element, text)),
  );

  private readonly errors = new Keyed<ShownError>(
    byId("errors"),
    (error) => error.number,
    (error) => {
      const at = new Date(error.at);
      const when = make("time", "", at.toLocaleTimeString());
      when.dateTime = at.toISOString();
      const [first = "", ...rest] = plain(error.message).split("\n");
      const worker = error.worker === null ? "" : ` worker ${error.worker}`;
      const about = error.request === null ? "" : `request ${error.request}\n`;
      const whole = about + [...rest, ...error.calls.map((call, i) => `${i + 1}. ${plain(call)}`)].join("\n");
      const summary = make("summary", "", when, `${worker} ${first}`);
      const again = error.request === null ? [] : [replay(error.request)];
      return make("li", "", make("details", "", summary, ...again, make("pre", "", whole)));
    },
    (entry, error) => {
      const again = entry.querySelector<HTMLElement>(".replay");
      if (again) again.hidden = !error.replayable;
    },
  );

  show(history: History, point: Point): void {
    const { snapshot } = point.message;
    this.now.show(facts(point));
    const slowest = history.slowest(ROUTES);
    this.routes.show(
      slowest.map(({ route, mean, late }) => [
        plain(route.route),
        count(route.requests),
        count(route.errors),
        time(mean),
        late === null ? "" : time(late),
      ]),
    );
    byId("no-routes").hidden = slowest.length > 0;
    const kept = new Set(snapshot.replayable ?? []);
    const isKept = (request: string | null) => request !== null && kept.has(request);
    this.errors.show([...snapshot.errors].reverse().map((error) => ({ ...error, replayable: isKept(error.request) })));
    byId("no-errors").hidden = snapshot.errors.length > 0;
    const { restarts, refusals } = snapshot.figures;
    const lines = [`Restarts since the start: ${known(restarts) || "none"}`];
    if (Object.keys(refusals).length > 0) lines.push(`refused requests: ${known(refusals)}`);
    say(byId("restarts"), lines.join("; "));
  }
}
