// Jobs: how many there are, and the latest, which may be cancelled or run once more. `drover jobs` shows the same
// (cli/src/jobs.rs).

import { act } from "./actions";
import { byId, Keyed, make, plain, say } from "./dom";
import type { Job } from "./snapshot";
import { count, time } from "./units";

/** What may be done to a job in a state. */
const acts = { waiting: "cancel", running: "cancel", scheduled: "cancel", failed: "retry", cancelled: "retry", done: "" };

const seconds = (from: string, to: string) => Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);

function said({ progress, due, error }: Job): string {
  const parts: string[] = [];
  if (progress) {
    const { done, total, message } = progress;
    parts.push(`${count(done)}${total === undefined ? "" : ` of ${count(total)}`}`, ...(message ? [message] : []));
  }
  if (due) parts.push(`from ${new Date(due).toLocaleString()}`);
  if (error) parts.push(error);
  return plain(parts.join(": "));
}

export class Jobs {
  private mayAct = false;

  private readonly rows = new Keyed<Job>(
    byId("jobs"),
    (job) => job.id,
    (job) => this.row(job),
    (row, job) => this.update(row, job),
  );

  private row(job: Job): HTMLElement {
    const created = new Date(job.created);
    const when = make("time", "", created.toLocaleTimeString());
    when.dateTime = job.created;
    when.title = created.toLocaleString();
    const button = make("button");
    button.type = "button";
    button.addEventListener("click", () => void act(button.value, job.id));
    const cells = [make("td", "", plain(job.kind)), make("td", "", when), make("td"), make("td"), make("td"), make("td")];
    const row = make("tr", "", ...cells, make("td", "", button));
    row.title = job.id;
    return row;
  }

  private update(row: HTMLElement, job: Job): void {
    const [state, attempt, took, progress] = [...row.children].slice(2);
    const button = row.querySelector("button");
    if (!state || !attempt || !took || !progress || !button) return;
    row.dataset["state"] = job.state;
    say(state, job.state);
    say(attempt, count(job.attempt));
    say(took, job.began && job.ended ? time(seconds(job.began, job.ended)) : "");
    say(progress, said(job));
    const what = acts[job.state];
    button.hidden = !this.mayAct || !what;
    button.value = what;
    say(button, what === "retry" ? "Retry" : "Cancel");
    button.setAttribute("aria-label", `${button.textContent} job ${job.id}`);
  }

  show(counts: Record<string, number>, latest: Job[], mayAct: boolean): void {
    this.mayAct = mayAct;
    byId("jobs-section").hidden = latest.length === 0;
    const known = Object.entries(counts).filter(([, n]) => n > 0);
    say(byId("job-counts"), known.map(([state, n]) => `${count(n)} ${state}`).join(", "));
    this.rows.show(latest);
  }
}
