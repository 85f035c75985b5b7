import { useMemo, useRef } from "react";

const NOTHING = { keys: [], takesFocus: false };

/**
 * Selects the nodes of the user's last action once they are drawn. `expect` begins such an action and returns the function
 * that names its nodes, which does nothing if the user has selected something else in the meantime.
 */
export function useAwaited(first) {
  const awaited = useRef(first ? { ...NOTHING, keys: [first] } : NOTHING);
  const choices = useRef(0);

  return useMemo(() => {
    const forget = () => {
      awaited.current = NOTHING;
      choices.current += 1;
    };
    return {
      forget,
      expect: ({ takesFocus = false } = {}) => {
        forget();
        const mine = choices.current;
        return (keys) => {
          if (mine === choices.current) awaited.current = { keys, takesFocus };
        };
      },
      /** Select a node of the page that is not drawn yet, unless the user has selected something since. */
      follow: (key) => {
        if (!awaited.current.keys.length) awaited.current = { ...NOTHING, keys: [key] };
      },
      /** Return the awaited nodes if all of them are drawn. */
      take: (drawn) => {
        const taken = awaited.current;
        if (!taken.keys.every((key) => drawn.includes(key))) return NOTHING;
        awaited.current = NOTHING;
        return taken;
      },
    };
  }, []);
}
