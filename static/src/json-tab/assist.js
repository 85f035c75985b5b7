// Completion and hover from the pipeline's JSON Schema.
import { autocompletion, snippetCompletion } from "@codemirror/autocomplete";
import { hoverTooltip } from "@codemirror/view";
import { membersOf, schemasAt, valuesOf, wordsOf } from "./schema.js";
import { pathOf, placeAt, valueOf, wholeTree } from "./tree.js";

/** `arriving` resolves to the schema, or to null after an error. Earlier requests for completion wait for it. */
export function assistance(arriving) {
  const answer = async (context) => {
    const schema = await arriving;
    return schema && !context.aborted ? complete(schema, context) : null;
  };
  const describe = async (view, pos) => {
    const schema = await arriving;
    return schema && explain(schema, view.state, pos);
  };
  return [autocompletion({ override: [answer] }), hoverTooltip(describe)];
}

/** Return the completions at a position. */
export function complete(schema, { state, pos, explicit }) {
  const { tree, text, value } = looked(state);
  const place = placeAt(tree, text, pos);
  if (!place || (!explicit && place.from === place.to)) return null;
  const at = place.path.reduce((part, step) => part?.[step], value);
  const schemas = schemasAt(schema, value, place.path);
  const options = place.kind === "key" ? keyOptions(schema, schemas, at, text, place) : valueOptions(schemas, value, place.path);
  if (!options.length) return null;
  // At a complete value, offer the other values too.
  const isComplete = options.some(({ label }) => label === text.slice(place.from, place.to));
  return { from: place.from, to: place.to, options, filter: !isComplete };
}

function keyOptions(schema, schemas, at, text, place) {
  const own = /^"((?:[^"\\]|\\.)*)"?$/.exec(text.slice(place.from, place.to))?.[1];
  const isTaken = (key) => key !== own && typeof at === "object" && at !== null && key in at;
  const hasValue = /^\s*:/.test(text.slice(place.to));
  const comma = /^\s*"/.test(text.slice(place.to)) ? "," : "";
  return [...membersOf(schema, schemas, at)].filter(([key]) => !isTaken(key)).map(([key, parts]) => {
    const label = JSON.stringify(key);
    const { description, type } = wordsOf(parts);
    const option = { label, displayLabel: key, type: "property", detail: type, info: description || undefined };
    return hasValue ? { ...option, apply: label } : snippetCompletion(`${label}: ${blank(parts)}${comma}`, option);
  });
}

function blank(schemas) {
  const values = valuesOf(schemas);
  if (values.length === 1) return JSON.stringify(values[0]);
  const { type } = wordsOf(schemas);
  return { string: '"${}"', array: "[${}]", object: "{${}}" }[type] ?? "${}";
}

function valueOptions(schemas, value, path) {
  const isInput = path.length === 4 && path[0] === "nodes" && path[2] === "inputs";
  const known = isInput ? otherIds(value, path[1]) : valuesOf(schemas);
  return known.map((item) => ({ label: JSON.stringify(item), displayLabel: String(item), type: isInput ? "variable" : "enum" }));
}

function otherIds(value, index) {
  return value.nodes.map((node) => node?.id).filter((id, i) => typeof id === "string" && i !== index);
}

function explain(schema, state, pos) {
  const { tree, value, slice } = looked(state);
  const node = tree.resolveInner(pos, 1);
  if (!node.parent || node.name === "JsonText") return null;
  const { title, description, type } = wordsOf(schemasAt(schema, value, pathOf(node, slice)));
  if (!title && !description) return null;
  const create = () => ({ dom: explanation(title, type, description, allowed(schemasAt(schema, value, pathOf(node, slice)))) });
  return { pos: node.from, end: node.to, above: true, create };
}

function allowed(schemas) {
  const values = valuesOf(schemas);
  return values.length > 1 ? values.map((value) => JSON.stringify(value)).join(", ") : "";
}

function explanation(title, type, description, values) {
  const dom = document.createElement("div");
  dom.className = "flow-json-hover";
  const add = (tag, text) => text && dom.appendChild(document.createElement(tag)).append(text);
  add("strong", title);
  add("span", type);
  add("p", description);
  add("p", values && `Allowed: ${values}`);
  return dom;
}

function looked(state) {
  const tree = wholeTree(state);
  const text = state.doc.toString();
  const slice = ({ from, to }) => text.slice(from, to);
  return { tree, text, slice, value: valueOf(tree.topNode, slice) };
}
