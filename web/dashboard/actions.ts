// What may be done: with the token, which the page keeps for as long as it is open and sends in a field that no other
// page can send.

import { byId, say } from "./dom";

const token = () => (byId("token") as HTMLInputElement).value.trim();

async function ask(path: string, what: string): Promise<void> {
  const said = byId("said");
  if (!token()) {
    say(said, `${what}: the token is missing`);
    byId("token").focus();
    return;
  }
  say(said, `${what}: asked`);
  try {
    const headers = { Authorization: `Bearer ${token()}` };
    const response = await fetch(path, { method: "POST", headers, credentials: "omit", cache: "no-store" });
    say(said, `${what}: ${(await response.text()).trim()}`);
  } catch {
    say(said, `${what}: the server does not answer`);
  }
}

export const restart = (pid: number): Promise<void> => ask(`restart/${pid}`, `Replace worker ${pid}`);

export const act = (what: string, job: string): Promise<void> => ask(`jobs/${what}/${job}`, `${what} job ${job}`);

export function listen(): void {
  byId("actions-on").addEventListener("submit", (event) => {
    event.preventDefault();
    void ask("reload", "Reload");
  });
}

/** Shows the form, or how to turn actions on. */
export function show(areOn: boolean): void {
  byId("actions-on").hidden = !areOn;
  byId("actions-off").hidden = areOn;
}
