import "@xyflow/react/dist/style.css";
import "./canvas.css";
import { applyEdgeChanges, applyNodeChanges, Background, ControlButton, Controls, MiniMap, ReactFlow, useReactFlow } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { asFlowEdges, asFlowNodes } from "./drawing.js";
import { EdgeActions, FlowEdge } from "./edge.jsx";
import { Icon } from "./icons.jsx";
import { keyListener } from "./keyboard.js";
import { placesOf, runsDown } from "./layout.js";
import { drawnEdges, drawnNodes } from "./model.js";
import { FlowNode } from "./node.jsx";
import { Done, Empty, Fault, Footer, Locked } from "./notices.jsx";
import { Align, draggedKind, isNodeDragged, Palette } from "./palette.jsx";
import { corner, useActions } from "./use_actions.js";
import { useAwaited } from "./use_awaited.js";
import { useClipboard } from "./use_clipboard.js";
import { useDraft } from "./use_draft.js";
import { FIT, useFit } from "./use_fit.js";
import { useMap } from "./use_map.js";
import { useMoves } from "./use_moves.js";
import { useSelection } from "./use_selection.js";

const NODE_TYPES = { flow: FlowNode };
const EDGE_TYPES = { flow: FlowEdge };

export function Canvas({ element, client, isViewer, data }) {
  const { kinds, run } = data;
  const { draft, fault, act, undo, reload } = useDraft(element, client);
  const [nodes, setNodes] = useState([]);
  const [edges, setEdges] = useState([]);
  const [isTall] = useState(() => isTallPane(element));
  const [isDown, setDown] = useState(false);
  const [notice, setNotice] = useState(null);
  const [focused, setFocused] = useState(null);
  const awaited = useAwaited(element.dataset.selected);
  const known = useRef([]);
  const wrapper = useRef(null);
  const flow = useReactFlow();
  const [isMapShown, toggleMap] = useMap(nodes.length);
  const isLocked = isViewer || !draft?.document || draft.readOnly;
  const selection = useSelection(element, setNodes, flow, awaited);
  const fit = useFit(element, flow, selection.showSelected);
  const selectedKeys = useCallback(() => flow.getNodes().filter(({ selected }) => selected).map(({ id }) => id), [flow]);
  const shown = useCallback(() => Object.fromEntries(flow.getNodes().map(({ id, position }) => [id, position])), [flow]);
  const moves = useMoves(act, shown);

  const drawn = useMemo(() => drawnNodes(draft?.document ?? draft?.lastGood, draft?.diagnostics), [draft]);
  useEffect(() => {
    const links = drawnEdges(drawn);
    const places = { ...placesOf(drawn, links, isTall), ...moves.pending() };
    const runsDownwards = links.length ? runsDown(places, links) : isTall;
    const keys = drawn.map(({ key }) => key);
    const { keys: chosen, takesFocus } = awaited.take(keys);
    setDown(runsDownwards);
    setNodes((old) => asFlowNodes(drawn, { places, isDown: runsDownwards, numbers: run?.nodes, old, chosen }));
    setEdges((old) => asFlowEdges(links, { drawn, kinds, numbers: run?.nodes, old }));
    const fresh = keys.filter((key) => !known.current.includes(key));
    known.current = keys;
    // React Flow has drawn them in the frame after next.
    if (fresh.length) requestAnimationFrame(() => requestAnimationFrame(() => selection.areInSight(fresh) || fit()));
    if (takesFocus) requestAnimationFrame(() => requestAnimationFrame(() => selection.focusNode(chosen[0])));
  }, [drawn, moves, isTall, fit, selection, awaited, kinds, run]);

  const view = useMemo(() => ({
    shown,
    isDown: () => isDown,
    isTall: () => isTall,
    selected: () => selectedKeys()[0] ?? null,
    centre: () => centreOf(wrapper.current, flow),
  }), [shown, isDown, isTall, selectedKeys, flow]);
  const notify = useCallback((text, { position }) => setNotice({ text, position }), []);
  const endNotice = useCallback(() => setNotice(null), []);
  const actions = useActions({ act, kinds, drawn, view, awaited, notify });
  const edgeActions = useMemo(
    () => (isLocked ? null : { insert: actions.insert, remove: (edge) => actions.erase([], [edge]) }),
    [isLocked, actions],
  );

  const onNodesChange = useCallback(
    (changes) => {
      if (changes.some(({ type }) => type === "select")) awaited.forget();
      setNodes((now) => applyNodeChanges(changes, now));
      moves.note(changes);
    },
    [moves, awaited],
  );
  const onEdgesChange = useCallback((changes) => setEdges((now) => applyEdgeChanges(changes, now)), []);

  /** The nodes that a key applies to: the selection, or the focused node if it is not selected. */
  const chosen = useCallback(
    (key = document.activeElement?.closest(".react-flow__node")?.dataset.id) => {
      const keys = selectedKeys();
      return key && !keys.includes(key) ? [key] : keys;
    },
    [selectedKeys],
  );
  const onDelete = useCallback(
    async (key) => {
      const keys = chosen(key);
      const links = flow.getEdges().filter(({ selected }) => selected).map(({ data: link }) => link);
      await actions.erase(keys, keys.length ? [] : links);
      wrapper.current?.focus();
    },
    [chosen, actions, flow],
  );
  useClipboard({ element, draft, isLocked, act, shown, isDown, chosen, awaited, onDelete });

  const put = useCallback(
    (positions) => {
      setNodes((now) => now.map((node) => (positions[node.id] ? { ...node, position: positions[node.id] } : node)));
      moves.put(positions);
    },
    [moves],
  );
  const { select, toggle, focusNode, openForm } = selection;
  const onKeyDown = keyListener({ shown, edges, isDown, isLocked, focusNode, select, toggle, put, onDelete, openForm });

  const onDrop = (event) => {
    const kind = draggedKind(event);
    if (!kind || isLocked) return;
    event.preventDefault();
    actions.add(kind, corner(flow.screenToFlowPosition({ x: event.clientX, y: event.clientY })));
  };
  const onArrange = async () => {
    await actions.arrange();
    requestAnimationFrame(() => fit());
  };
  const onUndo = () => {
    undo(notice.position);
    endNotice();
  };

  if (!draft) {
    if (fault) return <Fault fault={fault} onRetry={reload} />;
    return <div className="flow-empty" role="status">Loading the draft…</div>;
  }
  const selected = nodes.filter((node) => node.selected).length;
  return (
    <div className="flow-canvas" ref={wrapper} tabIndex={-1} onKeyDown={onKeyDown} onFocus={({ target }) => setFocused(target.dataset.id ?? focused)}>
      {!isLocked && <Palette kinds={kinds} onAdd={actions.add} onLayOut={onArrange} />}
      <Locked draft={draft} isViewer={isViewer} />
      <div className="flow-canvas-area">
        <div className="flow-canvas-board">
          <EdgeActions value={edgeActions}>
            <ReactFlow
              nodes={withOneTabStop(nodes, focused)}
              edges={edges}
              nodeTypes={NODE_TYPES}
              edgeTypes={EDGE_TYPES}
              onNodesChange={onNodesChange}
              onEdgesChange={onEdgesChange}
              onConnect={actions.onConnect}
              onReconnect={actions.onReconnect}
              onSelectionChange={selection.onChange}
              onDragOver={(event) => isNodeDragged(event) && event.preventDefault()}
              onDrop={onDrop}
              nodesDraggable={!isLocked}
              nodesConnectable={!isLocked}
              edgesReconnectable={!isLocked}
              edgesFocusable={false}
              disableKeyboardA11y
              deleteKeyCode={null}
              multiSelectionKeyCode={["Control", "Meta", "Shift"]}
              defaultMarkerColor={null}
              minZoom={0.2}
              maxZoom={2}
              fitView
              fitViewOptions={FIT}
            >
              <Background gap={20} />
              <Controls showInteractive={false} fitViewOptions={FIT}>
                <ControlButton onClick={toggleMap} aria-pressed={isMapShown} title="Overview map" aria-label="Overview map">
                  <Icon name="map" />
                </ControlButton>
              </Controls>
              {isMapShown && <MiniMap pannable zoomable ariaLabel="Overview map" />}
            </ReactFlow>
          </EdgeActions>
        </div>
        {selected > 1 && !isLocked && <Align selected={selected} onAlign={(how) => actions.alignNodes(selectedKeys(), how)} />}
        {drawn.length === 0 && <Empty onAdd={isLocked ? null : actions.add} />}
        {notice && draft.position === notice.position && <Done notice={notice} onUndo={onUndo} onEnd={endNotice} />}
      </div>
      <Footer run={run} />
    </div>
  );
}

/** Only one node is reachable with Tab; arrow keys move to the others. */
function withOneTabStop(nodes, focused) {
  const stop = nodes.find(({ id }) => id === focused) ?? nodes.find(({ selected }) => selected) ?? nodes[0];
  return nodes.map((node) => ({
    ...node,
    domAttributes: { tabIndex: node === stop ? 0 : -1, "aria-describedby": "flow-canvas-keys" },
  }));
}

/** Measure the whole pane, so that the preview below the canvas does not change the direction. */
function isTallPane(element) {
  const { clientWidth, clientHeight } = element.closest(".flow-centre");
  return clientWidth < 1.6 * clientHeight;
}

function centreOf(element, flow) {
  const box = element.querySelector(".react-flow").getBoundingClientRect();
  return corner(flow.screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 }));
}
