import { useCallback, useEffect } from "react";
import { toast } from "../draft_client.js";
import { copyNodes, pasteNodes, readNodes } from "./clipboard.js";
import { stepAside } from "./layout.js";
import { move, unplaced } from "./model.js";

/**
 * Copy, cut and paste with the browser's events, which need no permission; `duplicate` copies and pastes.
 * `chosen` returns the keys of the nodes for an action, `awaited` selects the new nodes.
 */
export function useClipboard({ element, draft, isLocked, act, shown, isDown, chosen, awaited, onDelete }) {
  const add = useCallback(
    async (label, copied) => {
      const select = awaited.expect({ takesFocus: true });
      await act(label, (document) => {
        const by = stepAside(copied.nodes.map(({ ui }) => ui).filter(Boolean), shown(), isDown);
        const pasted = pasteNodes(document, copied, by);
        select(pasted.ids);
        return [...(move(document, unplaced(document, shown())) ?? []), ...pasted.patch];
      });
    },
    [act, shown, isDown, awaited],
  );

  const duplicate = useCallback(() => {
    const text = draft?.document && copyNodes(draft.document, chosen(), shown());
    if (text) add("Duplicate", readNodes(text));
  }, [draft, chosen, shown, add]);

  useEffect(() => {
    const isHere = () => element.contains(document.activeElement) && !document.activeElement.matches("input, textarea");
    const onCopy = (event) => {
      const text = isHere() && draft?.document ? copyNodes(draft.document, chosen(), shown()) : null;
      if (!text) return;
      event.clipboardData.setData("text/plain", text);
      event.preventDefault();
      if (event.type === "cut" && !isLocked) onDelete();
    };
    const onPaste = (event) => {
      if (!isHere() || isLocked) return;
      const copied = readNodes(event.clipboardData.getData("text/plain"));
      if (!copied) return toast("The clipboard holds no nodes. Select nodes and copy them first.", "info");
      event.preventDefault();
      add("Paste", copied);
    };
    const onKey = (event) => {
      if (event.key.toLowerCase() !== "d" || !(event.ctrlKey || event.metaKey) || !isHere() || isLocked) return;
      event.preventDefault();
      duplicate();
    };
    const heard = { copy: onCopy, cut: onCopy, paste: onPaste, keydown: onKey };
    for (const [name, listener] of Object.entries(heard)) document.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(heard)) document.removeEventListener(name, listener);
    };
  }, [element, draft, isLocked, chosen, shown, onDelete, add, duplicate]);
}
