import { useEffect } from "react";
import { Icon } from "./icons.jsx";

const SECONDS = 10;

/** The reason why the draft cannot be changed, if any. */
export function Locked({ draft, isViewer }) {
  const reason = reasonOf(draft, isViewer);
  if (!reason) return null;
  return (
    <div className={`flow-locked flow-locked-${reason.kind}`} role="status">
      <Icon name={reason.icon} />
      <span>{reason.text}</span>
    </div>
  );
}

function reasonOf(draft, isViewer) {
  if (draft.document === null) {
    return {
      kind: "danger", icon: "error",
      text: "The JSON text is invalid. This is the last valid state, read-only. Correct the text on the JSON tab, or undo.",
    };
  }
  if (isViewer || draft.readOnly) return { kind: "info", icon: "lock", text: "Read-only: only editors can change this." };
  return null;
}

/** The run of the row counts, and a button for the keyboard shortcuts. */
export function Footer({ run }) {
  return (
    <div className="flow-hint">
      {run ? <span>Row counts: <a href={run.url}>run {run.number}</a>, {run.state.toLowerCase()}</span> : <span>Row counts appear after the first run.</span>}
      <span className="visually-hidden" id="flow-canvas-keys">Arrow keys go to the next node, Enter opens the form, question mark shows all shortcuts.</span>
      <button type="button" className="btn btn-sm btn-ghost-secondary" data-open-shortcuts aria-haspopup="dialog">Shortcuts <kbd className="ms-2">?</kbd></button>
    </div>
  );
}

/** The last action, with a button that undoes it. */
export function Done({ notice, onUndo, onEnd }) {
  useEffect(() => {
    const timer = setTimeout(onEnd, SECONDS * 1000);
    return () => clearTimeout(timer);
  }, [notice, onEnd]);
  return (
    <div className="flow-done" role="status">
      <span>{notice.text}</span>
      <button type="button" className="btn btn-sm" onClick={onUndo}>Undo</button>
    </div>
  );
}

export function Empty({ onAdd }) {
  return (
    <div className="flow-empty">
      <p className="h3">No nodes yet</p>
      <p>A pipeline reads from a source, transforms and validates the rows, and loads a target.</p>
      {onAdd && <button type="button" className="btn btn-primary" onClick={() => onAdd("source")}>Add a source</button>}
    </div>
  );
}

export function Fault({ fault, onRetry }) {
  return (
    <div className="flow-empty" role="alert">
      <p className="h3">The draft could not be loaded</p>
      <p>{fault.message} {fault.hint}</p>
      <button type="button" className="btn" onClick={onRetry}>Try again</button>
    </div>
  );
}
