// The command that plays a failed request again, which its reader copies into a terminal: the page itself cannot run it.

import { make } from "./dom";

/** For how long the button says that it has copied, in ms. */
const SAID_FOR = 2000;

/** Copies a text where the browser lets a page do so, which is over TLS and from this machine; otherwise selects it. */
async function copy(text: HTMLElement): Promise<string> {
  try {
    await navigator.clipboard.writeText(text.textContent ?? "");
    return "Copied";
  } catch {
    getSelection()?.selectAllChildren(text);
    return "Selected";
  }
}

/** The command for a request, and a button that copies it; hidden until it is known that the request is kept. */
export function replay(request: string): HTMLElement {
  const command = make("code", "", `drover replay ${request}`);
  const button = make("button", "", "Copy");
  button.type = "button";
  command.id = `replay-${request}`;
  button.setAttribute("aria-describedby", command.id);
  button.addEventListener("click", () => {
    void copy(command).then((said) => {
      button.textContent = said;
      setTimeout(() => (button.textContent = "Copy"), SAID_FOR);
    });
  });
  const line = make("p", "replay", command, button);
  line.hidden = true;
  return line;
}
