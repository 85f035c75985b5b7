// Branches of branch nodes: the nodes that they lead to, and the patches that update them.
import { isObject, text } from "./plain.js";

/** Return the branches of a node: [{to, where, path}], the default one without a condition; [] for other kinds. */
export function branchesOf(node) {
  if (node.kind !== "branch") return [];
  const branches = Array.isArray(node.branches) ? node.branches : [];
  const found = branches.flatMap((one, i) => (isObject(one) ? [{ to: one.to, where: text(one.where), path: `branches/${i}` }] : []));
  return text(node.default) ? [...found, { to: node.default, where: null, path: "default" }] : found;
}

/** Return the label of the edge from a node to one of its readers: the condition of the branch; "" if there is none. */
export function branchTo({ branches }, id) {
  const branch = branches.find(({ to }) => to === id);
  return branch ? branch.where ?? "otherwise" : "";
}

/** Return the patch that adds a branch to a new reader. The user enters its condition later. */
export function newBranch(document, from, id) {
  if (from.kind !== "branch" || from.branches.some(({ to }) => to === id)) return [];
  const path = `/nodes/${from.index}/branches`;
  const branch = { to: id, where: "" };
  return Array.isArray(document.nodes[from.index].branches)
    ? [{ op: "add", path: `${path}/-`, value: branch }]
    : [{ op: "add", path, value: [branch] }];
}

/** Return the patch that makes a branch lead to another node. */
export function redirected(document, from, before, after) {
  return from.branches
    .filter(({ to }) => to === before)
    .map(({ path }) => ({ op: "replace", path: `/nodes/${from.index}/${path === "default" ? path : `${path}/to`}`, value: after }));
}

/** Return the patch that removes the branches to removed nodes or edges: `ends` are [{source?, target}]. */
export function droppedBranches(document, node, ends) {
  const isGone = (to) => ends.some(({ source, target }) => target === to && (source === undefined || source === node.id));
  return node.branches.filter(({ to }) => isGone(to)).toReversed().map(({ path }) => ({ op: "remove", path: `/nodes/${node.index}/${path}` }));
}

/** Return the branches of a copied node, which lead to the copied nodes. */
export function renamedBranches({ kind, branches, default: other }, renamed) {
  if (kind !== "branch" || !Array.isArray(branches)) return {};
  const copied = branches.filter((one) => isObject(one) && renamed.has(one.to)).map((one) => ({ ...one, to: renamed.get(one.to) }));
  return { branches: copied, default: renamed.get(other) };
}
