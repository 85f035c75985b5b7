import { Icon } from "./icons.jsx";
import { ALIGNMENTS } from "./layout.js";

const TYPE = "application/x-flow-kind";

/** Return the kind of the dragged node, or "". */
export function draggedKind(event) {
  return event.dataTransfer.getData(TYPE);
}

export function isNodeDragged(event) {
  return event.dataTransfer.types.includes(TYPE);
}

export function Palette({ kinds, onAdd, onLayOut }) {
  return (
    <div className="flow-palette" role="toolbar" aria-label="Add nodes">
      {kinds.map(({ kind, description }) => (
        <button
          key={kind}
          type="button"
          id={`add-${kind}`}
          className="btn btn-sm"
          title={`${description} Select it, or drag it to the canvas.`}
          draggable
          onDragStart={(event) => {
            event.dataTransfer.setData(TYPE, kind);
            event.dataTransfer.effectAllowed = "copy";
          }}
          onClick={() => onAdd(kind)}
        >
          <Icon name={kind} />
          {kind[0].toUpperCase() + kind.slice(1)}
        </button>
      ))}
      <button type="button" className="btn btn-sm" title="Arrange all nodes" onClick={onLayOut}>
        <Icon name="layout" />
        <span className="flow-label">Arrange</span>
      </button>
    </div>
  );
}

/** Shown while several nodes are selected. */
export function Align({ selected, onAlign }) {
  return (
    <div className="flow-align">
      {selected} selected
      <span className="btn-group" role="group" aria-label="Align the selected nodes">
        {Object.entries(ALIGNMENTS).map(([how, title]) => (
          <button key={how} type="button" className="btn btn-sm btn-icon" title={title} aria-label={title} onClick={() => onAlign(how)}>
            <Icon name={how} />
          </button>
        ))}
      </span>
    </div>
  );
}
