// Makes static/dist from static/src and from the packages of package.json: `node tools/build.mjs FOLDER [--watch]`.
// Each file in static/src/entries becomes a bundle of its own; icons.json lists the icons that the sprite holds.
import { copyFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const source = path.join(root, "static/src");
const packages = path.join(root, "node_modules");
const out = path.resolve(process.argv[2] ?? path.join(root, "static/dist"));

const vendored = {
  "tabler.css": "@tabler/core/dist/css/tabler.min.css",
  "tabler.js": "@tabler/core/dist/js/tabler.min.js",
  "uplot.css": "uplot/dist/uPlot.min.css",
};

async function copyVendored() {
  for (const [name, from] of Object.entries(vendored)) {
    const text = await readFile(path.join(packages, from), "utf8");
    await writeFile(path.join(out, name), text.replace(/\n?(\/\/|\/\*)# sourceMappingURL=.*$/m, ""));
  }
}

async function symbol(name) {
  const svg = await readFile(path.join(packages, "@tabler/icons/icons/outline", `${name}.svg`), "utf8");
  const shapes = svg
    .slice(svg.indexOf(">") + 1, svg.lastIndexOf("</svg>"))
    .replace(/\s*<path stroke="none"[^>]*>/, "")
    .replace(/\s+/g, " ")
    .trim();
  return `<symbol id="${name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">${shapes}</symbol>`;
}

async function makeSprite() {
  const names = JSON.parse(await readFile(path.join(source, "icons.json"), "utf8"));
  const symbols = await Promise.all([...new Set(names)].sort().map(symbol));
  await writeFile(
    path.join(out, "icons.svg"),
    `<svg xmlns="http://www.w3.org/2000/svg">\n${symbols.join("\n")}\n</svg>\n`,
  );
}

async function bundleOptions() {
  const entries = (await readdir(path.join(source, "entries"))).sort();
  return {
    entryPoints: entries.map((name) => path.join(source, "entries", name)),
    outdir: out,
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022"],
    jsx: "automatic",
    loader: { ".svg": "text" },
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    absWorkingDir: root,
    logLevel: "warning",
  };
}

await mkdir(out, { recursive: true });
await copyVendored();
await makeSprite();
await copyFile(path.join(source, "favicon.svg"), path.join(out, "favicon.svg"));
if (process.argv.includes("--watch")) {
  await (await esbuild.context(await bundleOptions())).watch();
} else {
  await esbuild.build(await bundleOptions());
}
