// Converts the draft's nodes and edges to those of React Flow.
import { branchTo } from "./branches.js";
import { kindsBetween } from "./model.js";
import { NODE, SIDESTEP, STEP } from "./layout.js";
import { spoken } from "./node.jsx";
import { rowsBetween } from "./numbers.js";

const DOWN = { sourcePosition: "bottom", targetPosition: "top" };
const RIGHT = { sourcePosition: "right", targetPosition: "left" };
const ARROW = { type: "arrowclosed", width: 18, height: 18 };

/** `old` are the previous nodes, `chosen` the keys of the new selection; without them the selection stays. */
export function asFlowNodes(drawn, { places, isDown, numbers, old, chosen }) {
  return drawn.map((node) => {
    const before = old.find(({ id }) => id === node.key);
    const data = { ...node, numbers: numbers?.[node.id] };
    return {
      ...before,
      ...(isDown ? DOWN : RIGHT),
      id: node.key, type: "flow", data, position: places[node.key],
      ariaLabel: spoken(data),
      selected: chosen.length ? chosen.includes(node.key) : Boolean(before?.selected),
    };
  });
}

export function asFlowEdges(links, { drawn, kinds, numbers, old }) {
  const byKey = new Map(drawn.map((node) => [node.key, node]));
  return links.map((link) => {
    const { key, source, target, isReference } = link;
    const [from, to] = [byKey.get(source), byKey.get(target)];
    const between = kindsBetween(kinds, from, to).map(({ kind }) => kind);
    const label = isReference ? "" : branchTo(from, to.id);
    const data = { ...link, kinds: between, label, rows: isReference ? undefined : rowsBetween(numbers, from, to) };
    const selected = old.some((edge) => edge.id === key && edge.selected);
    const looks = isReference ? { className: "is-reference", ariaLabel: `${target} looks rows up in ${source}` } : {};
    return { id: key, type: "flow", source, target, data, selected, markerEnd: ARROW, ...looks };
  });
}

/** Return a free position after a node, in the direction of the edges. */
export function placeAfter({ x, y }, places, isDown) {
  return isDown ? freePlace({ x, y: y + STEP.y }, places, "x") : freePlace({ x: x + STEP.x, y }, places, "y");
}

export function freePlace(start, places, axis) {
  const at = { ...start };
  const isTaken = ({ x, y }) => Math.abs(x - at.x) < NODE.width && Math.abs(y - at.y) < NODE.height;
  while (Object.values(places).some(isTaken)) at[axis] += SIDESTEP[axis];
  return at;
}
