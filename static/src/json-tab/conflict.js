// Two texts side by side, for a draft that was changed here and elsewhere.
import { MergeView } from "@codemirror/merge";
import { looks, readOnly } from "./editor.js";

/** Show both texts in `place`. `onKeep(text)` receives the right text, which can be edited; `onTake()` selects the left one. */
export function showConflict(place, { nonce, theirs, mine, separator, onKeep, onTake }) {
  const end = () => {
    merge.destroy();
    place.replaceChildren();
  };
  const keep = button("Keep your text", "btn-primary", () => {
    const text = merge.b.state.sliceDoc();
    end();
    onKeep(text);
  });
  const take = button("Use the other text", "", () => {
    end();
    onTake();
  });
  const head = document.createElement("div");
  head.className = "flow-json-conflict";
  head.setAttribute("role", "alert");
  head.append(words(), keep, take);
  place.replaceChildren(head);
  const merge = new MergeView({
    a: { doc: theirs, extensions: [looks(nonce, "Changed draft"), readOnly(true), separator] },
    b: { doc: mine, extensions: [looks(nonce, "Your text"), separator] },
    parent: place,
    revertControls: "a-to-b",
    collapseUnchanged: { margin: 3, minSize: 6 },
  });
  keep.focus();
}

function words() {
  const text = document.createElement("p");
  text.textContent =
    "The draft changed elsewhere while you typed. The current draft is on the left, your text on the right. " +
    "Nothing is merged. To combine both, edit your text, then choose.";
  return text;
}

function button(text, kind, onClick) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `btn ${kind}`;
  made.textContent = text;
  made.addEventListener("click", onClick);
  return made;
}
