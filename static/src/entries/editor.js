// The pipeline editor's page: connects the islands, the forms and the keyboard.
import { startHelp } from "../editor/help.js";
import { startKeyboard } from "../editor/keyboard.js";
import { startResizer } from "../editor/resizer.js";
import { startShownForm } from "../editor/shown_form.js";

const editor = document.getElementById("flow-editor");
/** The number of edits without a response. */
let pending = 0;
// Scroll the open tab into view if the tabs do not fit.
document.querySelector("#flow-tabs .active")?.scrollIntoView({ block: "nearest", inline: "center" });

// Each edit names the draft on which it is based, so that it cannot overwrite changes of another tab.
document.addEventListener("htmx:config:request", ({ detail }) => {
  const { request } = detail.ctx;
  if (request.method === "GET") return;
  request.headers["If-Match"] = `"${document.getElementById("flow-actions").dataset.revision}"`;
  request.headers["X-Flow-Page"] = editor.dataset.page;
  request.keepalive = true; // the edit is sent even if the user leaves the page
  pending += 1;
});
document.addEventListener("htmx:finally:request", ({ detail }) => {
  if (detail.ctx.request.method !== "GET") pending -= 1;
});
// Send all queued edits before following a link.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]:not([hx-get], [target])");
  if (!link || pending === 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0) return;
  event.preventDefault();
  while (pending > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  location.assign(link.href);
}, true);

// A message that was saved with a run is not unsaved text.
document.addEventListener("htmx:before:response", ({ detail: { ctx } }) => {
  const message = document.getElementById("flow-message");
  if (ctx.hx.redirect && message && ctx.request.body?.get?.("message") === message.value) message.defaultValue = message.value;
});

// A page that the browser restores from its cache may show an old draft.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) document.dispatchEvent(new CustomEvent("flow:draft-changed", { detail: { origin: "page" } }));
});

// After adding an item, focus it.
document.addEventListener("htmx:after:swap", ({ target }) => {
  if (!(target instanceof Element) || !target.id.endsWith("-more")) return;
  const items = document.getElementById(target.id)?.closest("fieldset").querySelectorAll(":scope > .flow-item");
  [...(items ?? [])].at(-1)?.querySelector(".flow-fields input, .flow-fields select, .flow-fields textarea")?.focus();
});

startShownForm(editor);
startKeyboard();
startHelp();
const resizer = document.getElementById("flow-resizer");
if (resizer) startResizer(resizer);
