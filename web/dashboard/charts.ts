// The charts, by uPlot. Their colours are those of style.css, light or dark; a text says the same for who cannot see
// them.

import uPlot from "uplot";
import { byId } from "./dom";
import { SHOWN, type History, type Point } from "./history";
import { bytes, count, rate, time } from "./units";

const HEIGHT = 150;

/** Where the axis of time has its marks, in seconds before now. */
const AGO = [120, 90, 60, 30, 0];

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

interface Line { label: string; colour: string; of: (point: Point) => number | null }

interface Chart { id: string; lines: Line[]; says: (point: Point) => string }

const ms = (seconds: number | null | undefined) => (seconds == null ? null : seconds * 1000);

const spoken = (seconds: number | null | undefined) => (seconds == null ? "nothing yet" : time(seconds));

const memory = (point: Point) => point.message.snapshot.workers.reduce((sum, worker) => sum + worker.memory, 0);

const charts: Chart[] = [
  {
    id: "rate",
    lines: [
      { label: "requests", colour: "first", of: (point) => point.requests },
      { label: "errors", colour: "third", of: (point) => point.errors },
    ],
    says: (point) => `${rate(point.requests)} requests and ${rate(point.errors)} errors per second`,
  },
  {
    id: "time",
    lines: [
      { label: "50 %", colour: "first", of: (point) => ms(point.times[0]) },
      { label: "95 %", colour: "second", of: (point) => ms(point.times[1]) },
      { label: "99 %", colour: "third", of: (point) => ms(point.times[2]) },
    ],
    says: ({ times }) => `half within ${spoken(times[0])}, 95 % ${spoken(times[1])}, 99 % ${spoken(times[2])}`,
  },
  {
    id: "queue",
    lines: [{ label: "requests", colour: "second", of: (point) => point.message.snapshot.waiting }],
    says: (point) => `${count(point.message.snapshot.waiting)} requests wait`,
  },
  {
    id: "memory",
    lines: [{ label: "all workers", colour: "first", of: (point) => memory(point) / 1e6 }],
    says: (point) => `${bytes(memory(point))} in all workers`,
  },
];

export class Charts {
  private readonly drawn = charts.map((chart) => {
    const place = byId(chart.id);
    // a container of its own: a screen reader has the label instead of what is in it
    place.setAttribute("role", "img");
    const times = {
      splits: (_plot: uPlot, _axis: number, _least: number, most: number) => AGO.map((ago) => most - ago),
      values: () => AGO.map((ago) => (ago > 0 ? `-${ago} s` : "now")),
    };
    const grid = { stroke: () => colour("line"), width: 1 };
    const axis = { stroke: () => colour("muted"), grid, ticks: { show: false } };
    const plot = new uPlot(
      {
        width: Math.max(place.clientWidth, 200),
        height: HEIGHT,
        legend: { live: false },
        cursor: { show: false },
        scales: {
          x: { time: false, range: (_plot, _least, most) => [most - SHOWN, most] },
          y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, 1)] },
        },
        axes: [{ ...axis, ...times, size: 30 }, { ...axis, size: 56 }],
        series: [
          {},
          ...chart.lines.map((line) => ({
            label: line.label,
            stroke: () => colour(line.colour),
            width: 2,
            points: { show: false },
          })),
        ],
      },
      [[], ...chart.lines.map(() => [])],
      place,
    );
    new ResizeObserver(() => {
      const width = Math.max(place.clientWidth, 200);
      if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }).observe(place);
    return { chart, place, plot };
  });

  constructor() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const { plot } of this.drawn) plot.redraw();
    });
  }

  show(history: History): void {
    const points = history.points;
    const last = points[points.length - 1];
    if (!last) return;
    for (const { chart, place, plot } of this.drawn) {
      const lines = chart.lines.map((line) => points.map(line.of));
      plot.setData([points.map((point) => point.at), ...lines] as uPlot.AlignedData);
      place.setAttribute("aria-label", chart.says(last));
    }
  }
}
