import { useMemo, useRef } from "react";
import { move } from "./model.js";

const WAIT_MS = 400;

/** Collects where nodes were put, by drag or by arrow keys, and sends them once the hand rests. */
export function useMoves(act) {
  const waiting = useRef({});
  const timer = useRef(0);

  return useMemo(() => {
    const send = async () => {
      const positions = waiting.current;
      await act("Move", (document) => move(document, positions));
      // Keep moves made meanwhile.
      if (waiting.current === positions) waiting.current = {};
    };
    const note = (changes) => {
      const moved = changes.filter(({ type, position, dragging }) => type === "position" && position && dragging === false);
      if (!moved.length) return;
      waiting.current = { ...waiting.current, ...Object.fromEntries(moved.map(({ id, position }) => [id, position])) };
      clearTimeout(timer.current);
      timer.current = setTimeout(send, WAIT_MS);
    };
    return { note, pending: () => waiting.current };
  }, [act]);
}
