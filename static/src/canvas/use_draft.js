import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { announceChange, onChangeElsewhere, toast } from "../draft_client.js";

const ORIGIN = "canvas";

/**
 * The draft as last answered, and `act`, which changes it. Actions wait for each other, so that each makes its patch
 * from the draft that the one before left.
 */
export function useDraft(element, client) {
  const [draft, setDraft] = useState(null);
  const [fault, setFault] = useState(null);
  const latest = useRef(null);
  const queue = useRef(Promise.resolve());

  const accept = useCallback((answer) => {
    latest.current = answer;
    setDraft(answer);
    setFault(null);
  }, []);

  const enqueue = useCallback((job) => (queue.current = queue.current.then(job)), []);

  const reload = useCallback(() => enqueue(() => client.read().then(accept, setFault)), [client, accept, enqueue]);

  const change = useCallback(
    (job) =>
      enqueue(async () => {
        try {
          const answer = await job(latest.current);
          if (!answer) return null;
          accept(answer);
          announceChange(element, ORIGIN, answer);
          return answer;
        } catch (refused) {
          toast(wordsOf(refused), "danger");
          await client.read().then((answer) => {
            accept(answer);
            announceChange(element, ORIGIN, answer);
          }, setFault);
          return null;
        }
      }),
    [client, element, accept, enqueue],
  );

  /** `make` gets the document and gives a patch, or null; gives the new draft, or null where nothing was changed. */
  const act = useCallback(
    (label, make) =>
      change((now) => {
        const patch = now?.document ? make(now.document) : null;
        return patch && client.patch(patch, label, now);
      }),
    [change, client],
  );

  /** Undo the newest step if it is still the one at `position`. */
  const undo = useCallback(
    (position) => change((now) => (now.position === position ? client.undo(now) : null)),
    [change, client],
  );

  useEffect(() => {
    reload();
    return onChangeElsewhere(ORIGIN, reload);
  }, [reload]);

  return useMemo(() => ({ draft, fault, act, undo, reload }), [draft, fault, act, undo, reload]);
}

function wordsOf({ code, message, hint }) {
  if (["patch.refused", "draft.conflict"].includes(code)) return "The draft was changed elsewhere meanwhile, so this was not done. The page now shows the current draft.";
  return [message, hint].filter(Boolean).join(" ");
}
