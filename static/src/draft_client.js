// Client of the API for the draft that form, canvas and JSON tab share.
import { cookieToken } from "./csrf.js";

/** A response without a draft: `status` (0 without a response) and the problem's `code`, `message` and `hint`. */
export class DraftRefused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.message ?? problem.title ?? `The server answered with status ${status}.`);
    this.status = status;
    this.code = problem.code ?? "";
    this.hint = problem.hint ?? "";
  }

  get isConflict() {
    return this.status === 409 || this.status === 412;
  }
}

/**
 * Create a client from the attributes of an island's element: `data-draft-url`, `data-workspace`, `data-page`. All methods return
 * the whole draft. Methods that change it have the draft `from` on which the change is based, and fail if the draft has changed since.
 */
export function draftClient({ draftUrl, workspace, page }) {
  const call = (method, url, from, body, type = "application/json") =>
    send(method, url, { "X-Flow-Workspace": workspace, "X-Flow-Page": page, ...(from && { "If-Match": `"${from.revision}"` }) }, body, type);
  return {
    read: () => call("GET", draftUrl),
    write: (text, from) => call("PUT", draftUrl, from, { text }),
    patch: (patch, label, from) =>
      call("PATCH", `${draftUrl}?label=${encodeURIComponent(label)}`, from, patch, "application/json-patch+json"),
    undo: (from) => call("POST", `${draftUrl}undo/`, from),
  };
}

async function send(method, url, more, body, type) {
  const headers = { Accept: "application/json", ...more };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) headers["Content-Type"] = type;
  const response = await fetch(url, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin" }).catch(
    () => null,
  );
  if (response === null) throw new DraftRefused(0, { detail: "The server did not answer.", hint: "Check the network connection and try again." });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new DraftRefused(response.status, answer);
  return answer;
}

/** Return the cookie's token, which a sign-in in another tab changes; from the page if scripts cannot read the cookie. */
function csrfToken() {
  const headers = document.body.getAttribute("hx-headers:inherited") ?? "{}";
  return cookieToken() || (JSON.parse(headers)["X-CSRFToken"] ?? "");
}

/** Notify the page that this island changed the draft. */
export function announceChange(root, origin, draft) {
  const detail = { origin, position: draft.position };
  root.dispatchEvent(new CustomEvent("flow:draft-changed", { bubbles: true, detail }));
}

/** Call `listener` when another origin than `origin` changed the draft; return the function that ends this. */
export function onChangeElsewhere(origin, listener) {
  const heard = (event) => event.detail?.origin !== origin && listener();
  document.addEventListener("flow:draft-changed", heard);
  return () => document.removeEventListener("flow:draft-changed", heard);
}

export function toast(text, kind) {
  document.dispatchEvent(new CustomEvent("flow:toast", { detail: { text, kind } }));
}

/** Start an island in each matching element, including later ones, and end it when the element is removed. */
export function mountAll(selector, start) {
  const running = new Map();
  const look = () => {
    for (const [root, end] of running) {
      if (!root.isConnected) {
        running.delete(root);
        end();
      }
    }
    for (const root of document.querySelectorAll(selector)) if (!running.has(root)) running.set(root, start(root));
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}
