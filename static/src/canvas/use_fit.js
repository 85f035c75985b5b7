import { useCallback, useEffect } from "react";

/** The padding on the left leaves room for the zoom buttons. */
export const FIT = { maxZoom: 1, padding: { top: 0.12, right: 0.12, bottom: 0.12, left: "56px" } };
/** The time until a pane that is being resized has its final size in React Flow. */
const WAIT_MS = 120;
/** Names are not readable below this zoom. */
const LEAST_ZOOM = 0.5;

/**
 * Shows all nodes: with `fit`, and when the canvas changes its size while all of them are visible. If they do not fit any
 * more, `showSelected` scrolls to the selected one.
 */
export function useFit(element, flow, showSelected) {
  const fit = useCallback(() => flow.fitView(FIT), [flow]);

  useEffect(() => {
    let size = null;
    let timer = 0;
    const observer = new ResizeObserver(([{ contentRect }]) => {
      const before = size;
      size = contentRect;
      const isSame = before?.width === size.width && before?.height === size.height;
      if (!before || isSame || (!timer && !wereInSight(flow, before))) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = 0;
        flow.fitView({ ...FIT, minZoom: LEAST_ZOOM }).then(showSelected);
      }, WAIT_MS);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [element, flow, showSelected]);
  return fit;
}

function wereInSight(flow, { width, height }) {
  const { x, y, zoom } = flow.getViewport();
  const bounds = flow.getNodesBounds(flow.getNodes());
  const [left, top] = [bounds.x * zoom + x, bounds.y * zoom + y];
  return left >= 0 && top >= 0 && left + bounds.width * zoom <= width && top + bounds.height * zoom <= height;
}
