// Branches of branch nodes: which node each leads to, as the canvas draws them, and the patches that keep them right.
import { isObject, text } from "./plain.js";

/** The branches of a node: [{to, where, path}], the default one without a condition; [] for other kinds. */
export function branchesOf(node) {
  if (node.kind !== "branch") return [];
  const branches = Array.isArray(node.branches) ? node.branches : [];
  const found = branches.flatMap((one, i) => (isObject(one) ? [{ to: one.to, where: text(one.where), path: `branches/${i}` }] : []));
  return text(node.default) ? [...found, { to: node.default, where: null, path: "default" }] : found;
}

/** What the edge from a node to one of its readers says: the condition of the branch; "" where there is none. */
export function branchTo({ branches }, id) {
  const branch = branches.find(({ to }) => to === id);
  return branch ? branch.where ?? "otherwise" : "";
}

/** A branch that leads to a new reader, whose condition is still to be written. */
export function newBranch(document, from, id) {
  if (from.kind !== "branch" || from.branches.some(({ to }) => to === id)) return [];
  const path = `/nodes/${from.index}/branches`;
  const branch = { to: id, where: "" };
  return Array.isArray(document.nodes[from.index].branches)
    ? [{ op: "add", path: `${path}/-`, value: branch }]
    : [{ op: "add", path, value: [branch] }];
}

/** A branch that leads to another node from now on. */
export function redirected(document, from, before, after) {
  return from.branches
    .filter(({ to }) => to === before)
    .map(({ path }) => ({ op: "replace", path: `/nodes/${from.index}/${path === "default" ? path : `${path}/to`}`, value: after }));
}

/** Without the branches to nodes that are removed, or whose edge is: `ends` are [{source?, target}]. */
export function droppedBranches(document, node, ends) {
  const isGone = (to) => ends.some(({ source, target }) => target === to && (source === undefined || source === node.id));
  return node.branches.filter(({ to }) => isGone(to)).toReversed().map(({ path }) => ({ op: "remove", path: `/nodes/${node.index}/${path}` }));
}

/** The branches of a copied node, which lead to the copies of those that were copied with it. */
export function renamedBranches({ kind, branches, default: other }, renamed) {
  if (kind !== "branch" || !Array.isArray(branches)) return {};
  const copied = branches.filter((one) => isObject(one) && renamed.has(one.to)).map((one) => ({ ...one, to: renamed.get(one.to) }));
  return { branches: copied, default: renamed.get(other) };
}
