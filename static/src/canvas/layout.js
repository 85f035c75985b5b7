// Places for nodes that have none: layers from left to right.
import { Graph, layout } from "@dagrejs/dagre";

export const NODE = { width: 220, height: 84 };
const SPACE = { rankdir: "LR", nodesep: 36, ranksep: 72 };

/** {key: {x, y}} of upper left corners, for all nodes. */
export function layOut(nodes, edges) {
  const graph = new Graph();
  graph.setGraph({ ...SPACE });
  graph.setDefaultEdgeLabel(() => ({}));
  nodes.forEach(({ key }) => graph.setNode(key, { ...NODE }));
  edges.forEach(({ source, target }) => graph.setEdge(source, target));
  layout(graph);
  return Object.fromEntries(
    nodes.map(({ key }) => {
      const { x, y } = graph.node(key);
      return [key, { x: Math.round(x - NODE.width / 2), y: Math.round(y - NODE.height / 2) }];
    }),
  );
}

/** {key: {x, y}}: where the document puts the nodes; all others lie below those, in layers of their own. */
export function placesOf(nodes, edges) {
  const placed = nodes.filter(({ position }) => position);
  if (placed.length === nodes.length) return Object.fromEntries(nodes.map(({ key, position }) => [key, position]));
  const laid = layOut(nodes, edges);
  if (!placed.length) return laid;
  const below = Math.max(...placed.map(({ position }) => position.y)) + NODE.height + SPACE.nodesep;
  const left = Math.min(...placed.map(({ position }) => position.x));
  return Object.fromEntries(
    nodes.map(({ key, position }) => [key, position ?? { x: left + laid[key].x, y: below + laid[key].y }]),
  );
}
