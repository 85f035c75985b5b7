import { useMemo, useRef } from "react";
import { move, unplaced } from "./model.js";

const WAIT_MS = 400;

/** Collects the new positions of nodes, moved by mouse or keyboard, and sends them after a pause. `shown` has all positions. */
export function useMoves(act, shown) {
  const waiting = useRef({});
  const timer = useRef(0);

  return useMemo(() => {
    const send = async () => {
      const positions = waiting.current;
      await act("Move", (document) => move(document, { ...unplaced(document, shown()), ...positions }));
      // Keep moves made meanwhile.
      if (waiting.current === positions) waiting.current = {};
    };
    const put = (positions) => {
      waiting.current = { ...waiting.current, ...positions };
      clearTimeout(timer.current);
      timer.current = setTimeout(send, WAIT_MS);
    };
    const note = (changes) => {
      const moved = changes.filter(({ type, position, dragging }) => type === "position" && position && dragging === false);
      if (moved.length) put(Object.fromEntries(moved.map(({ id, position }) => [id, position])));
    };
    return { note, put, pending: () => waiting.current };
  }, [act, shown]);
}
