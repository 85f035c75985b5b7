import { useCallback, useState } from "react";

const MANY = 6;
const STORED = "flow:canvas-map";

/** Return whether to show the overview map: as stored in this browser, else if there are many nodes. */
export function useMap(count) {
  const [chosen, setChosen] = useState(() => localStorage.getItem(STORED));
  const isShown = chosen === null ? count > MANY : chosen === "shown";
  const toggle = useCallback(() => {
    const next = isShown ? "hidden" : "shown";
    localStorage.setItem(STORED, next);
    setChosen(next);
  }, [isShown]);
  return [isShown, toggle];
}
