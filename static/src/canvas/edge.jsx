import { BaseEdge, EdgeLabelRenderer, getBezierPath, useStore } from "@xyflow/react";
import { createContext, memo, useContext, useEffect, useRef, useState } from "react";
import { Icon } from "./icons.jsx";
import { SIDESTEP } from "./layout.js";
import { rows } from "./numbers.js";

/** The actions of edges: {insert(edge, kind), remove(edge)}; null if the draft cannot be changed. */
export const EdgeActions = createContext(null);

const zoomOf = (state) => state.transform[2];
/** So that a label ends before the button of the next branch, which has the same size at every zoom: pixels. */
const labelWidth = (zoom) => Math.min(120, SIDESTEP.x / 2 - 28 / zoom);

export const FlowEdge = memo(function FlowEdge({ id, data, markerEnd, ...ends }) {
  const actions = useContext(EdgeActions);
  const zoom = useStore(zoomOf);
  const [path, x, y] = getBezierPath(ends);
  const transform = `translate(-50%, -50%) translate(${x}px, ${y}px) scale(${Math.max(1, 1 / zoom)})`;
  // The node that a branch leads to shows the same number.
  const hasCount = typeof data.rows === "number" && !data.label;
  return (
    <>
      <BaseEdge id={id} path={path} markerEnd={markerEnd} interactionWidth={24} />
      {(actions || hasCount || data.label) && (
        <EdgeLabelRenderer>
          <div className="flow-edge nodrag nopan" style={{ transform }}>
            {actions && <EdgeMenu edge={data} actions={actions} />}
            {(data.label || hasCount) && (
              <span className="flow-edge-notes">
                {data.label && <span className="flow-edge-label" style={{ zoom: Math.min(1, zoom), maxWidth: labelWidth(Math.min(1, zoom)) }} title={data.label}>{data.label}</span>}
                {hasCount && <span className="flow-edge-count" title={`${data.rows} rows in the last run`}>{rows(data.rows)}</span>}
              </span>
            )}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

function EdgeMenu({ edge, actions }) {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef(null);
  const button = useRef(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (isOpen) menu.current.querySelector("button").focus();
  }, [isOpen]);
  const choose = (action) => {
    setOpen(false);
    action();
  };
  const leaves = ({ currentTarget, relatedTarget }) => relatedTarget && !currentTarget.contains(relatedTarget) && setOpen(false);
  return (
    <div className="flow-edge-menu" onBlur={leaves} onKeyDown={(event) => isOpen && onMenuKey(event, menu.current, close)}>
      <button
        ref={button}
        type="button"
        className="flow-edge-add"
        aria-label={`Insert a node between ${edge.source} and ${edge.target}`}
        title="Insert a node here"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="plus" />
      </button>
      {isOpen && (
        <div className="flow-edge-options dropdown-menu show" role="menu" aria-label={`Edge from ${edge.source} to ${edge.target}`} ref={menu}>
          {edge.kinds.map((kind) => (
            <button key={kind} type="button" role="menuitem" tabIndex={-1} className="dropdown-item" onClick={() => choose(() => actions.insert(edge, kind))}>
              <Icon name={kind} /> Insert {kind}
            </button>
          ))}
          <button type="button" role="menuitem" tabIndex={-1} className="dropdown-item text-danger" onClick={() => choose(() => actions.remove(edge))}>
            <Icon name="trash" /> Delete edge
          </button>
        </div>
      )}
    </div>
  );
}

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

function onMenuKey(event, menu, close) {
  event.stopPropagation();
  const options = [...menu.querySelectorAll("button")];
  const step = STEPS[event.key];
  if (event.key === "Escape") close();
  if (!step) return;
  event.preventDefault();
  const now = options.indexOf(document.activeElement);
  options[(now + step + options.length) % options.length].focus();
}
