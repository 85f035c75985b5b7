import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { announceChange, onChangeElsewhere, toast } from "../draft_client.js";

const ORIGIN = "canvas";

/**
 * The draft of the last response, and `act`, which changes it. Actions run one after the other, so that each makes its patch
 * from the result of the previous one.
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

  /** `make` receives the document and returns a patch or null. Return the new draft, or null if nothing was changed. */
  const act = useCallback(
    (label, make) =>
      change((now) => {
        const patch = now?.document ? make(now.document) : null;
        return patch && client.patch(patch, label, now);
      }),
    [change, client],
  );

  /** Undo the newest step if it is still at `position`. */
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
