import { useCallback, useMemo } from "react";
import { freePlace, placeAfter } from "./drawing.js";
import { align, layOut, makeRoom, NODE } from "./layout.js";
import { addNode, connect, drawnEdges, drawnNodes, insertNode, looseEnd, move, reconnect, remove, replacedBy, unplaced } from "./model.js";
import { plural } from "./node.jsx";

/**
 * The actions of the canvas, each one step of the draft. `awaited` selects a new node, `notify` receives a text and the
 * draft to undo to, `view` is the state of the canvas: {shown, isDown, selected, centre, isTall}.
 */
export function useActions({ act, kinds, drawn, view, awaited, notify }) {
  /** Return the patch that stores the positions of nodes without one, if other nodes have one. */
  const withPlaces = useCallback(
    (document, patch, positions = {}) => [...(move(document, { ...unplaced(document, view.shown()), ...positions }) ?? []), ...patch],
    [view],
  );

  const add = useCallback(
    (kind, at = null) => {
      const before = at ? null : (view.selected() ?? looseEnd(drawn, kinds, kind));
      const places = view.shown();
      const isPlaced = at || drawn.some(({ position }) => position);
      const select = awaited.expect();
      const place = () => at ?? (before ? placeAfter(places[before], places, view.isDown()) : freePlace(view.centre(), places, "y"));
      return act(`Add ${kind}`, (document) => {
        const { patch, id } = addNode(document, kinds, kind, isPlaced ? place() : null, before);
        select([id]);
        return isPlaced ? withPlaces(document, patch) : patch;
      });
    },
    [act, kinds, drawn, view, awaited, withPlaces],
  );

  const insert = useCallback(
    (edge, kind) => {
      const select = awaited.expect();
      return act(`Insert ${kind}`, (document) => {
        const isPlaced = drawnNodes(document).some(({ position }) => position);
        const { inserted, shifted } = makeRoom(view.shown(), drawnEdges(drawn), edge, view.isDown());
        const made = insertNode(document, kinds, kind, isPlaced ? inserted : null, edge);
        if (!made) return null;
        select([made.id]);
        return isPlaced ? withPlaces(document, made.patch, shifted) : made.patch;
      });
    },
    [act, kinds, drawn, view, awaited, withPlaces],
  );

  const link = useCallback(
    async (label, target, source, make) => {
      const before = replacedBy(drawn, source, target);
      const answer = await act(label, make);
      if (answer && before && before !== source) notify(`${target} now reads from ${source} instead of ${before}.`, answer);
    },
    [act, drawn, notify],
  );

  const onConnect = useCallback(
    ({ source, target }) => link("Connect", target, source, (document) => connect(document, source, target)),
    [link],
  );

  const onReconnect = useCallback(
    ({ data }, { source, target }) => link("Reconnect", target, source, (document) => reconnect(document, data, source, target)),
    [link],
  );

  const erase = useCallback(
    async (keys, edges) => {
      if (!keys.length && !edges.length) return;
      const what = keys.length === 1 ? keys[0] : keys.length ? plural(keys.length, "node") : plural(edges.length, "edge");
      const answer = await act(`Delete ${what}`, (document) => remove(document, keys, edges));
      if (answer) notify(`Deleted ${what}.`, answer);
    },
    [act, notify],
  );

  const arrange = useCallback(() => {
    const places = layOut(drawn, drawnEdges(drawn), view.isTall());
    return act("Arrange", (document) => move(document, places));
  }, [act, drawn, view]);

  const alignNodes = useCallback(
    (keys, how) => act("Align", (document) => {
      const places = align(view.shown(), keys, how);
      return move(document, { ...unplaced(document, view.shown()), ...places });
    }),
    [act, view],
  );

  return useMemo(
    () => ({ add, insert, onConnect, onReconnect, erase, arrange, alignNodes }),
    [add, insert, onConnect, onReconnect, erase, arrange, alignNodes],
  );
}

export function corner({ x, y }) {
  return { x: x - NODE.width / 2, y: y - NODE.height / 2 };
}
