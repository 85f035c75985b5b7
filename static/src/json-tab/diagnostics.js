// The server's diagnostics as marks in the text.
import { offsetInLine, stepsOf } from "./places.js";
import { nodeAt, wholeTree } from "./tree.js";

/** Return CodeMirror's diagnostics. The button of a fix calls `applyFix(patch)`. */
export function marksOf(state, diagnostics, applyFix) {
  return diagnostics.map((diagnostic) => ({
    ...rangeOf(state, diagnostic),
    severity: diagnostic.severity,
    message: textOf(diagnostic),
    renderMessage: () => render(diagnostic),
    actions: diagnostic.fixes.map((patch) => ({ name: wordsOf(patch), apply: () => applyFix(patch) })),
  }));
}

const textOf = ({ message, hint }) => [message, hint].filter(Boolean).join("\n");

/** The text and the code, which links to its description. */
function render(diagnostic) {
  const text = document.createElement("span");
  const link = document.createElement("a");
  text.textContent = textOf(diagnostic);
  link.href = `/docs/errors/#${diagnostic.code.replaceAll(".", "")}`;
  link.target = "_blank";
  link.className = "flow-json-code";
  link.textContent = diagnostic.code;
  text.append(link);
  return text;
}

/** Return the position from the line and column, if the server sends them, else from the path. */
function rangeOf(state, { line, column, path }) {
  const at = line === null ? startOf(state, path) : offsetAt(state.doc, line, column ?? 1);
  const node = wholeTree(state).resolveInner(at, 1);
  const isToken = !node.firstChild && node.from === at;
  return { from: at, to: Math.min(isToken ? node.to : at + 1, state.doc.lineAt(at).to) };
}

function offsetAt(doc, number, column) {
  const line = doc.line(Math.min(Math.max(number, 1), doc.lines));
  return line.from + offsetInLine(line.text, column);
}

function startOf(state, path) {
  return nodeAt(wholeTree(state).topNode, stepsOf(path), ({ from, to }) => state.sliceDoc(from, to)).from;
}

function wordsOf(patch) {
  return patch.map(({ op, path, value }) => [op, path, value === undefined ? "" : JSON.stringify(value)].join(" ").trim()).join(", ");
}
