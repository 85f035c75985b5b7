import { Icon } from "./icons.jsx";
import { KINDS } from "./model.js";

const TITLES = { source: "Source", transform: "Transform", validate: "Validate", target: "Target" };
const DOES = {
  source: "Read files or a table",
  transform: "Rename, cast, filter, derive",
  validate: "Check rows and loads",
  target: "Load into a table",
};
const TYPE = "application/x-flow-kind";

/** The kind of node that is dragged here, or "". */
export function draggedKind(event) {
  const kind = event.dataTransfer.getData(TYPE);
  return KINDS.includes(kind) ? kind : "";
}

export function isNodeDragged(event) {
  return event.dataTransfer.types.includes(TYPE);
}

export function Palette({ onAdd, onLayOut }) {
  return (
    <div className="flow-palette" role="toolbar" aria-label="Add nodes">
      {KINDS.map((kind) => (
        <button
          key={kind}
          type="button"
          className="btn btn-sm"
          title={`${DOES[kind]}. Select it, or drag it to the canvas.`}
          draggable
          onDragStart={(event) => {
            event.dataTransfer.setData(TYPE, kind);
            event.dataTransfer.effectAllowed = "copy";
          }}
          onClick={() => onAdd(kind)}
        >
          <Icon name={kind} />
          {TITLES[kind]}
        </button>
      ))}
      <button type="button" className="btn btn-sm" title="Arrange nodes" onClick={onLayOut}>
        <Icon name="layout" />
        Arrange
      </button>
    </div>
  );
}
