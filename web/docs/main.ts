// The page of documentation: the description of the app, which the server has at /openapi.json, shown by Swagger UI.
//
// Not for making the description (R/openapi.R). Nothing is asked of another host: the page's policy forbids it, too.

import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-bundle.js";

interface Description {
  info: { title: string };
  servers?: { url: string }[];
  paths: Record<string, object>;
}

/** A page with more paths than this shows tags only, until somebody opens one: thousands take seconds. */
const MANY = 200;

/** The element that everything is shown in. */
const place = document.getElementById("api") as HTMLElement;

async function description(): Promise<Description> {
  const answer = await fetch("../openapi.json", { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status} ${answer.statusText}`);
  return answer.json() as Promise<Description>;
}

function show(api: Description): void {
  document.title = api.info.title;
  // where a proxy has put the server, which does not know of it
  const base = new URL("..", location.href).pathname.replace(/\/$/, "");
  SwaggerUIBundle({
    spec: base && !api.servers ? { ...api, servers: [{ url: base }] } : api,
    plugins: [{ wrapComponents: { Markdown: withoutMarkup } }],
    domNode: place,
    deepLinking: true,
    docExpansion: Object.keys(api.paths).length > MANY ? "none" : "list",
    // from the address for whoever runs the server, the app is not reached
    supportedSubmitMethods: place.dataset["try"] === "yes" ? undefined : [],
    // else it asks a host on the internet
    validatorUrl: null,
  });
}

/** A component of React, as far as it matters here. */
type Component = (properties: { source?: string }) => unknown;

/** Descriptions are Markdown, and markup in them is text, so that no description makes the page ask for pictures. */
function withoutMarkup(Original: Component, system: { React: { createElement(...of: unknown[]): unknown } }): Component {
  return (properties) => {
    const source = properties.source === undefined ? undefined : asText(properties.source);
    return system.React.createElement(Original, { ...properties, source });
  };
}

/** With tags written as text. What stands in code is text already, and addresses in brackets are links. */
function asText(markdown: string): string {
  const parts = markdown.split(/(^ {0,3}```.*?^ {0,3}```|^ {0,3}~~~.*?^ {0,3}~~~|`[^`]+`|<https?:[^\s<>]*>)/ms);
  return parts.map((part, i) => (i % 2 ? part : part.replace(/</g, "&lt;"))).join("");
}

/** Names what Swagger UI leaves without a name, for screen readers. */
function nameControls(): void {
  const unnamed = "select.examples-select-element:not([aria-label])";
  const name = () => place.querySelectorAll(unnamed).forEach((select) => select.setAttribute("aria-label", "Example"));
  new MutationObserver(name).observe(place, { childList: true, subtree: true });
}

function fail(why: unknown): void {
  const text = document.createElement("p");
  text.className = "problem";
  text.setAttribute("role", "alert");
  text.textContent = `The description of the API cannot be shown. ${why instanceof Error ? why.message : String(why)}`;
  place.replaceChildren(text);
}

/** Swagger UI has dark colours for a class. */
function followColours(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  dark.addEventListener("change", follow);
  follow();
}

followColours();
nameControls();
description().then(show).catch(fail);
