// What has been seen since the page was opened: figures are sums, so that two of them give what happened in between.
// Not for how it looks: charts.ts, tables.ts, lanes.ts.

import type { Message, Route, Worker } from "./snapshot";

/** Seconds that charts and lanes show. */
export const SHOWN = 120;
/** Seconds over which times are looked at: within one there may be few requests. */
const TIMES_OF = 10;

export interface Point {
  /** seconds since 1970 */
  at: number;
  message: Message;
  requests: number;
  errors: number;
  received: number;
  sent: number;
  /** below which time half, 95 % and 99 % of the last requests were; null without any */
  times: (number | null)[];
}

/** What each worker did, at each point. */
export type State = Worker["state"] | "gone";

const less = (now: number[], then: number[] | undefined) => now.map((n, i) => n - (then?.[i] ?? 0));

/** Below which time, in seconds, this part of the times is, evenly within each bucket. */
export function quantile(bounds: number[], buckets: number[], part: number): number | null {
  const all = buckets.reduce((sum, n) => sum + n, 0);
  let below = 0;
  for (const [i, n] of buckets.entries()) {
    if (n <= 0) continue;
    if (below + n >= part * all) {
      const from = bounds[i - 1] ?? 0;
      const to = bounds[i] ?? from;
      return from + (to - from) * Math.min(1, Math.max(0, (part * all - below) / n));
    }
    below += n;
  }
  return null;
}

export class History {
  points: Point[] = [];
  private readonly states = new Map<number, { at: number; state: State }[]>();

  /** A snapshot has come. */
  add(message: Message): Point {
    const last = this.points[this.points.length - 1];
    // another server has taken its place
    if (last && (last.message.pid !== message.pid || message.age < last.message.age)) {
      this.points = [];
      this.states.clear();
    }
    const before = this.points[this.points.length - 1];
    const figures = message.snapshot.figures;
    const then = before?.message.snapshot.figures ?? figures;
    const seconds = before ? Math.max(message.age - before.message.age, 0.001) : 1;
    const failed = (status: Record<string, number>) => status["5xx"] ?? 0;
    const early = this.points.find((point) => message.age - point.message.age <= TIMES_OF + 0.5);
    const times = less(figures.duration, early?.message.snapshot.figures.duration);
    const point: Point = {
      at: Date.now() / 1000,
      message,
      requests: (figures.requests - then.requests) / seconds,
      errors: (failed(figures.by_status) - failed(then.by_status)) / seconds,
      received: (figures.received - then.received) / seconds,
      sent: (figures.sent - then.sent) / seconds,
      times: [0.5, 0.95, 0.99].map((part) => (early ? quantile(figures.bounds, times, part) : null)),
    };
    this.points.push(point);
    this.points = this.points.filter((old) => old.at > point.at - SHOWN - TIMES_OF);
    this.note(point);
    return point;
  }

  private note(point: Point): void {
    const workers = point.message.snapshot.workers;
    for (const worker of workers) {
      const states = this.states.get(worker.pid) ?? [];
      states.push({ at: point.at, state: worker.alive ? worker.state : "gone" });
      this.states.set(worker.pid, states.filter((old) => old.at > point.at - SHOWN));
    }
    for (const pid of this.states.keys()) {
      if (!workers.some((worker) => worker.pid === pid)) this.states.delete(pid);
    }
  }

  statesOf(pid: number): { at: number; state: State }[] {
    return this.states.get(pid) ?? [];
  }

  /** The routes with what has happened since the first point, the slowest first; without any, since the start. */
  slowest(most: number): { route: Route; mean: number; late: number | null }[] {
    const last = this.points[this.points.length - 1]?.message.snapshot.figures;
    if (!last) return [];
    const first = this.points[0]?.message.snapshot.figures;
    const since = last.routes.map((route): Route => {
      const then = first?.routes.find((other) => other.route === route.route);
      return {
        route: route.route,
        requests: route.requests - (then?.requests ?? 0),
        errors: route.errors - (then?.errors ?? 0),
        seconds: route.seconds - (then?.seconds ?? 0),
        duration: less(route.duration, then?.duration),
      };
    });
    const seen = since.some((route) => route.requests > 0) ? since : last.routes;
    return seen
      .filter((route) => route.requests > 0)
      .map((route) => ({
        route,
        mean: route.seconds / route.requests,
        late: quantile(last.bounds, route.duration, 0.95),
      }))
      .sort((a, b) => b.mean - a.mean)
      .slice(0, most);
  }
}
