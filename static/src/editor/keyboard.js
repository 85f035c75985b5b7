// The keys of the editor's page; those of the canvas are in canvas/keyboard.js.
import { isTyping } from "../typing.js";

const panel = () => document.getElementById("flow-panel");

export function startKeyboard() {
  document.addEventListener("keydown", (event) => {
    const act = actionOf(event);
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest(".skip-link[href='#flow-canvas']")) requestAnimationFrame(focusCanvas);
  });
}

function actionOf({ key, ctrlKey, metaKey, altKey, shiftKey, target }) {
  if (key === "F6") return panel()?.contains(target) ? focusCanvas : () => focusForm();
  if (!(ctrlKey || metaKey) || altKey) return null;
  const letter = key.toLowerCase();
  if (letter === "s") return save;
  if ((letter !== "z" && letter !== "y") || isTyping(target)) return null;
  return () => document.getElementById(letter === "y" || shiftKey ? "flow-redo" : "flow-undo")?.click();
}

function save() {
  document.activeElement?.blur?.();
  document.getElementById("flow-save")?.requestSubmit();
}

function focusCanvas() {
  document.dispatchEvent(new CustomEvent("flow:focus-canvas"));
}

/** The first field of the form, or of the item at a place of the document: the one that is wrong, if there is one. */
export function focusForm(at = "") {
  const fields = ".flow-fields :is(input, select, textarea):not([disabled], [hidden])";
  const item = at ? panel()?.querySelector(`[data-path="${CSS.escape(at)}"]`) : panel();
  for (let fold = item?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  const field = item?.querySelector("[aria-invalid=true]") ?? item?.querySelector(fields);
  field?.focus();
  field?.scrollIntoView({ block: "nearest" });
}
