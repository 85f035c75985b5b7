import { neighbour } from "./layout.js";

const NUDGE = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** The distance between the dots of the background in pixels. */
const STEP = 20;

/**
 * Return the key listener of the canvas, which ignores keys of buttons and menus. `canvas` has the state
 * {shown, edges, isDown, isLocked} and the actions {focusNode, select, toggle, put, onDelete, openForm}.
 */
export function keyListener(canvas) {
  return (event) => {
    if (event.target.closest("button, input, textarea") || event.ctrlKey || event.metaKey) return;
    const act = actionOf(event, event.target.closest(".react-flow__node")?.dataset.id, canvas);
    if (!act) return;
    event.preventDefault();
    act();
  };
}

function actionOf({ key, altKey, shiftKey }, focused, canvas) {
  if (key === "Escape") return () => canvas.select([]);
  if (key === "Delete" || key === "Backspace") return canvas.isLocked ? null : () => canvas.onDelete(focused);
  if (!focused) return NUDGE[key] ? () => canvas.focusNode() : null;
  if (key === "Enter") return () => canvas.openForm(focused);
  if (key === " ") return () => canvas.toggle(focused);
  if (!NUDGE[key]) return null;
  if (altKey) return canvas.isLocked ? null : () => nudge(focused, NUDGE[key], canvas);
  return () => go(focused, key, shiftKey, canvas);
}

function go(focused, arrow, isExtending, { shown, edges, isDown, focusNode, select, toggle }) {
  const next = neighbour(shown(), edges, focused, arrow, isDown);
  if (next === null) return;
  if (isExtending) [focused, next].forEach((key) => toggle(key, true));
  else select([next]);
  focusNode(next);
}

function nudge(focused, [x, y], { shown, put }) {
  const from = shown()[focused];
  put({ [focused]: { x: from.x + x * STEP, y: from.y + y * STEP } });
}
