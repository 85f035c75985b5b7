// Runs a source and writes what it recorded: `node record.mjs SOURCE RESULT`. Only `flow compile` calls this.
// Plain JavaScript without the newest functions, so that an old Node can say that it is too old.

import fs from "node:fs";
import module from "node:module";
import url from "node:url";

const [source, result] = process.argv.slice(2);

async function run() {
  if (!process.features.typescript || !module.registerHooks) {
    const hint = "Install Node 22.18 or newer, or: pip install 'flow-pipelines[typescript]'";
    return failed(`Node ${process.versions.node} does not run TypeScript.`, hint, 1);
  }
  const sourceUrl = url.pathToFileURL(source).href;
  const builder = new URL("./index.ts", import.meta.url).href;
  module.registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "flow-transforms") return { url: builder, shortCircuit: true };
      if (context.parentURL === sourceUrl && /^[./]/.test(specifier)) {
        throw new Error(`A source imports no other file: ${specifier}`);
      }
      return next(specifier, context);
    },
  });
  const recording = await import("./recording.ts");
  recording.setSource(sourceUrl, source);
  try {
    await import(sourceUrl);
    return { recorded: (await import(builder)).recordAll() };
  } catch (error) {
    if (error instanceof recording.TransformError) return failed(error.message, error.hint, error.line);
    const line = recording.lineOf(error instanceof Error ? error : new Error(String(error)));
    return failed(`The source ends with ${error?.name ?? "an error"}: ${error?.message ?? error}.`, "", line);
  }
}

function failed(message, hint, line) {
  return { error: { message, hint, line } };
}

fs.writeFileSync(result, JSON.stringify(await run()));
