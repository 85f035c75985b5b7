import { useMemo, useRef } from "react";

const NOTHING = { keys: [], takesFocus: false };

/**
 * What is to be selected once it is drawn: the nodes that the user's last action makes. `expect` begins such an action
 * and gives the function that names its nodes, which does nothing if the user has chosen something else by then.
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
      /** A node that the page shows and that is not drawn yet; what the user has done since comes first. */
      follow: (key) => {
        if (!awaited.current.keys.length) awaited.current = { ...NOTHING, keys: [key] };
      },
      /** What is awaited if all of it is drawn now. */
      take: (drawn) => {
        const taken = awaited.current;
        if (!taken.keys.every((key) => drawn.includes(key))) return NOTHING;
        awaited.current = NOTHING;
        return taken;
      },
    };
  }, []);
}
