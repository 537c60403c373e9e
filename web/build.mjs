// Makes the pages of the server itself: node build.mjs FOLDER. For each page a folder in FOLDER, with its files and
// `policy.txt`, the value of the field Content-Security-Policy that the page is sent with.
//
// Not for fetching packages, nor for when to build: tools/web.sh. The server's side: engine/src/edge/web.rs.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const sources = fileURLToPath(new URL(".", import.meta.url));
// browsers of the last five years
const target = ["es2021"];

/** The contents of a script or a style sheet with all that it imports. */
async function bundle(entry) {
  const options = { bundle: true, minify: true, write: false, target, format: "iife", legalComments: "none" };
  const { outputFiles } = await build({ ...options, entryPoints: [join(sources, entry)], logLevel: "error" });
  return outputFiles[0].text.trim();
}

/** What a policy says of inline text that the page has. */
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** A page in one file: script and style stand in its HTML, and the policy lets in these two and nothing else. */
async function inOneFile(page, { most }) {
  const [html, script, style] = await Promise.all([
    readFile(join(sources, page, "index.html"), "utf8"),
    bundle(`${page}/main.ts`),
    bundle(`${page}/style.css`),
  ]);
  if (/<\/(script|style)/i.test(script + style)) throw new Error(`${page}: a script or style would end itself`);
  const whole = html
    .replace("<!-- style -->", () => `<style>${style}</style>`)
    .replace("<!-- script -->", () => `<script>${script}</script>`);
  const size = Buffer.byteLength(whole);
  if (size > most) throw new Error(`${page}: ${size} bytes, and at most ${most} are wanted`);
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return { "index.html": whole, "policy.txt": policy.join("; ") };
}

/** Data that style sheets have in themselves becomes files: no policy has to allow `data:` then. */
const dataIn = (files) => ({
  name: "data-in-files",
  setup({ onResolve }) {
    onResolve({ filter: /^data:/ }, ({ path }) => {
      const [, ending, coding, data] = /^data:image\/([a-z]+)[^,]*?(;base64)?,(.*)$/s.exec(path);
      const contents = coding ? Buffer.from(data, "base64") : Buffer.from(decodeURIComponent(data));
      const name = `${createHash("sha256").update(contents).digest("hex").slice(0, 12)}.${ending}`;
      files[name] = contents;
      return { path: name, external: true };
    });
  },
});

/** A page in files beside it, which come from the server and nowhere else. */
async function inFiles(page, { copied, variants }) {
  const options = { bundle: true, minify: true, write: false, target, format: "iife", legalComments: "none" };
  const entryPoints = ["main.ts", "style.css"].map((name) => join(sources, page, name));
  const files = {};
  const plugins = [dataIn(files)];
  const { outputFiles } = await build({ ...options, entryPoints, outdir: "/", plugins, logLevel: "error" });
  for (const { path, contents } of outputFiles) files[path.slice(1)] = contents;
  for (const [name, from] of Object.entries(copied)) files[name] = await readFile(join(sources, "node_modules", from));
  const html = await readFile(join(sources, page, "index.html"), "utf8");
  files["index.html"] = html;
  for (const [name, change] of Object.entries(variants)) files[name] = html.replace(...change);
  files["policy.txt"] = ["default-src 'self'", ...["base-uri", "form-action", "frame-ancestors", "object-src"].map((name) => `${name} 'none'`)].join("; ");
  return files;
}

const pages = {
  dashboard: () => inOneFile("dashboard", { most: 100_000 }),
  docs: () =>
    inFiles("docs", {
      copied: {
        "icon.png": "swagger-ui-dist/favicon-32x32.png",
        "licenses.txt": "swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt",
      },
      variants: { "admin.html": ['data-try="yes"', 'data-try="no"'] },
    }),
};

/** A file as it is installed: packed, where that is shorter by far. The server unpacks it for clients that want it so. */
function packed([name, contents]) {
  const smaller = gzipSync(contents, { level: 9 });
  return smaller.length < 0.8 * Buffer.byteLength(contents) && name !== "policy.txt" ? [`${name}.gz`, smaller] : [name, contents];
}

const out = process.argv[2];
if (!out) throw new Error("which folder? node build.mjs FOLDER");
for (const [page, make] of Object.entries(pages)) {
  const files = await make();
  await rm(join(out, page), { recursive: true, force: true });
  await mkdir(join(out, page), { recursive: true });
  for (const [name, contents] of Object.entries(files).map(packed)) await writeFile(join(out, page, name), contents);
}
