import { useCallback, useState } from "react";

const MANY = 6;
const STORED = "flow:canvas-map";

/** Whether the overview map is shown: as chosen in this browser, else where there are many nodes. */
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
