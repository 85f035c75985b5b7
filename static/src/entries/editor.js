// The pipeline editor's page: carries news between the islands, the forms and the keyboard.
import { startHelp } from "../editor/help.js";
import { startKeyboard } from "../editor/keyboard.js";
import { startResizer } from "../editor/resizer.js";
import { startShownForm } from "../editor/shown_form.js";

const editor = document.getElementById("flow-editor");
/** Edits that the server has not answered yet. */
let pending = 0;
// Where the tabs do not fit beside each other the open one is in sight.
document.querySelector("#flow-tabs .active")?.scrollIntoView({ block: "nearest", inline: "center" });

// An edit says which draft it was made from, so that it cannot overwrite what another tab has changed.
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
// Edits that wait for each other are all sent before a link is followed.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]:not([hx-get], [target])");
  if (!link || pending === 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0) return;
  event.preventDefault();
  while (pending > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  location.assign(link.href);
}, true);

// A message that a run has saved is not lost when its page comes.
document.addEventListener("htmx:before:response", ({ detail: { ctx } }) => {
  const message = document.getElementById("flow-message");
  if (ctx.hx.redirect && message && ctx.request.body?.get?.("message") === message.value) message.defaultValue = message.value;
});

// A page that the browser kept and shows again may be of a draft that has changed since.
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
