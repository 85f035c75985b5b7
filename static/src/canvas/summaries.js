// One-line summaries of nodes.
import { isObject, joined, text } from "./plain.js";

const SUMMARIES = {
  source: (node) => {
    const config = isObject(node.config) ? node.config : {};
    const table = isObject(config.table) ? joined([config.table.schema, config.table.name], ".") : "";
    const file = joined([text(config.path), text(config.pattern?.value)], "/").replace(/\/+/g, "/");
    const stream = joined([text(config.tap), text(config.stream)], ": ");
    return table || file || (text(config.query) ? "query" : "") || text(config.url) || stream;
  },
  transform: (node) => counted(node.ops, "operation"),
  branch: (node) => joined([counted(node.branches, "branch", "branches"), text(node.default) && "default"], " + "),
  validate: (node) => joined([counted(node.rowLevel, "row rule"), checksOf(node.datasetLevel)], ", "),
  target: (node) => joined([joined([text(node.schema), text(node.table)], "."), text(node.loadMode)], " · "),
};

export function summaryOf(node) {
  return Object.hasOwn(SUMMARIES, node.kind) ? SUMMARIES[node.kind](node) : "";
}

function checksOf(level) {
  const checks = isObject(level) ? Object.values(level).flat() : [];
  return checks.length ? counted(checks, "check") : "";
}

function counted(list, what, several = `${what}s`) {
  const number = Array.isArray(list) ? list.length : 0;
  return number === 1 ? `1 ${what}` : `${number || "no"} ${several}`;
}
