import "@xyflow/react/dist/style.css";
import "./canvas.css";
import { applyEdgeChanges, applyNodeChanges, Background, Controls, MiniMap, ReactFlow, useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { layOut, NODE, placesOf, runsDown, SIDESTEP, STEP } from "./layout.js";
import { addNode, connect, drawnEdges, drawnNodes, looseEnd, move, remove, replacedBy } from "./model.js";
import { FlowNode, plural, spoken } from "./node.jsx";
import { Done, Empty, Fault, Locked } from "./notices.jsx";
import { draggedKind, isNodeDragged, Palette } from "./palette.jsx";
import { useDraft } from "./use_draft.js";
import { useMoves } from "./use_moves.js";
import { useSelection } from "./use_selection.js";

const NODE_TYPES = { flow: FlowNode };
const FIT = { maxZoom: 1, padding: 0.15 };
const MANY = 8;
const DOWN = { sourcePosition: "bottom", targetPosition: "top" };
const RIGHT = { sourcePosition: "right", targetPosition: "left" };
const ARROW = { type: "arrowclosed", width: 18, height: 18 };

export function Canvas({ element, client, isViewer }) {
  const { draft, fault, act, undo, reload } = useDraft(element, client);
  const [nodes, setNodes] = useState([]);
  const [edges, setEdges] = useState([]);
  const [notice, setNotice] = useState(null);
  const awaited = useRef(element.dataset.selected || null);
  const shown = useRef([]);
  const wrapper = useRef(null);
  const flow = useReactFlow();
  const isLocked = isViewer || !draft?.document || draft.readOnly;
  const moves = useMoves(act);
  const { onChange: onSelectionChange, areInSight } = useSelection(element, setNodes, flow);

  const drawn = useMemo(() => drawnNodes(draft?.document ?? draft?.lastGood, draft?.diagnostics), [draft]);
  useEffect(() => {
    const links = drawnEdges(drawn);
    const places = { ...placesOf(drawn, links, isTall(element)), ...moves.pending() };
    const sides = (links.length ? runsDown(places, links) : isTall(element)) ? DOWN : RIGHT;
    const chosen = awaited.current;
    if (drawn.length) awaited.current = null;
    setNodes((old) => drawn.map((data) => asFlowNode(data, places[data.key], sides, old, chosen)));
    setEdges((old) => links.map((link) => asFlowEdge(link, old)));
    const fresh = drawn.map(({ key }) => key).filter((key) => !shown.current.includes(key));
    shown.current = drawn.map(({ key }) => key);
    // In the frame after next React Flow has drawn them.
    if (fresh.length) requestAnimationFrame(() => requestAnimationFrame(() => areInSight(fresh) || flow.fitView(FIT)));
  }, [drawn, moves, element, flow, areInSight]);

  const onNodesChange = useCallback(
    (changes) => {
      setNodes((now) => applyNodeChanges(changes, now));
      moves.note(changes);
    },
    [moves],
  );
  const onEdgesChange = useCallback((changes) => setEdges((now) => applyEdgeChanges(changes, now)), []);
  const onConnect = useCallback(
    async ({ source, target }) => {
      const before = replacedBy(drawn, target);
      const answer = await act("Connect", (document) => connect(document, source, target));
      if (answer && before) setNotice({ text: `${target} now reads from ${source} instead of ${before}.`, position: answer.position });
    },
    [act, drawn],
  );

  const readFrom = (kind) => {
    const chosen = nodes.find(({ selected }) => selected);
    const loose = looseEnd(drawn, kind);
    return chosen ?? nodes.find(({ id }) => id === loose);
  };

  const onAdd = async (kind, at = null) => {
    const before = at ? null : readFrom(kind);
    const place = at ?? (before ? after(before, nodes) : freePlace(centreOf(wrapper.current, flow), nodes, "y"));
    await act(`Add ${kind}`, (document) => {
      const { patch, id } = addNode(document, kind, place, before?.id, element.dataset.connection);
      awaited.current = id;
      return patch;
    });
  };

  const onLayOut = async () => {
    const places = layOut(drawn, drawnEdges(drawn), isTall(element));
    await act("Arrange", (document) => move(document, places));
    requestAnimationFrame(() => flow.fitView(FIT));
  };

  const onDelete = async (focused) => {
    const keys = nodes.filter(({ selected }) => selected).map(({ id }) => id);
    const links = edges.filter(({ selected }) => selected).map(({ data }) => data);
    if (!keys.length && !links.length && focused) keys.push(focused);
    if (!keys.length && !links.length) return;
    const what = keys.length === 1 ? keys[0] : keys.length ? plural(keys.length, "node") : plural(links.length, "edge");
    const answer = await act(`Delete ${what}`, (document) => remove(document, keys, links));
    if (!answer) return;
    setNotice({ text: `Deleted ${what}.`, position: answer.position });
    wrapper.current?.focus();
  };

  const onKeyDown = (event) => {
    if (isLocked || !["Delete", "Backspace"].includes(event.key) || event.target.closest("button, input, textarea")) return;
    event.preventDefault();
    onDelete(event.target.closest(".react-flow__node")?.dataset.id);
  };

  const onDrop = (event) => {
    const kind = draggedKind(event);
    if (!kind || isLocked) return;
    event.preventDefault();
    const corner = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    onAdd(kind, { x: corner.x - NODE.width / 2, y: corner.y - NODE.height / 2 });
  };

  const endNotice = useCallback(() => setNotice(null), []);
  const onUndo = () => {
    undo(notice.position);
    endNotice();
  };

  if (!draft) {
    if (fault) return <Fault fault={fault} onRetry={reload} />;
    return <div className="flow-empty" role="status">Loading the draft…</div>;
  }
  return (
    <div className="flow-canvas" ref={wrapper} tabIndex={-1} onKeyDown={onKeyDown}>
      {!isLocked && <Palette onAdd={onAdd} onLayOut={onLayOut} />}
      <Locked draft={draft} isViewer={isViewer} />
      <div className="flow-canvas-area">
        <div className="flow-canvas-board">
          <ReactFlow
            nodes={nodes}
            edges={edges}
            nodeTypes={NODE_TYPES}
            onNodesChange={onNodesChange}
            onEdgesChange={onEdgesChange}
            onConnect={onConnect}
            onSelectionChange={onSelectionChange}
            onDragOver={(event) => isNodeDragged(event) && event.preventDefault()}
            onDrop={onDrop}
            nodesDraggable={!isLocked}
            nodesConnectable={!isLocked}
            deleteKeyCode={null}
            defaultMarkerColor={null}
            minZoom={0.2}
            maxZoom={2}
            fitView
            fitViewOptions={FIT}
          >
            <Background gap={20} />
            <Controls showInteractive={false} fitViewOptions={FIT} />
            {nodes.length > MANY && <MiniMap pannable zoomable />}
          </ReactFlow>
        </div>
        {drawn.length === 0 && <Empty onAdd={isLocked ? null : onAdd} />}
        {notice && draft.position === notice.position && <Done notice={notice} onUndo={onUndo} onEnd={endNotice} />}
      </div>
      {!isLocked && (
        <p className="flow-hint">
          Drag from dot to dot to connect, or choose <em>Reads from</em> in a node's form. Delete removes what is selected.
        </p>
      )}
    </div>
  );
}

function asFlowNode(data, position, sides, old, chosen) {
  const before = old.find(({ id }) => id === data.key);
  return {
    ...before,
    ...sides,
    id: data.key, type: "flow", data, position,
    ariaLabel: spoken(data),
    selected: chosen === null ? Boolean(before?.selected) : data.key === chosen,
  };
}

function isTall(element) {
  return element.clientWidth < 1.6 * element.clientHeight;
}

function asFlowEdge(link, old) {
  const { key, source, target } = link;
  const selected = old.some((edge) => edge.id === key && edge.selected);
  return { id: key, source, target, data: link, selected, markerEnd: ARROW };
}

/** A free place after a node, in the direction of the edges. */
function after(node, nodes) {
  const isDown = node.sourcePosition === "bottom";
  const { x, y } = node.position;
  return isDown ? freePlace({ x, y: y + STEP.y }, nodes, "x") : freePlace({ x: x + STEP.x, y }, nodes, "y");
}

function freePlace(start, nodes, axis) {
  const at = { ...start };
  const isTaken = ({ position }) => Math.abs(position.x - at.x) < NODE.width && Math.abs(position.y - at.y) < NODE.height;
  while (nodes.some(isTaken)) at[axis] += SIDESTEP[axis];
  return at;
}

function centreOf(element, flow) {
  const box = element.querySelector(".react-flow").getBoundingClientRect();
  const { x, y } = flow.screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
  return { x: x - NODE.width / 2, y: y - NODE.height / 2 };
}
