// The pipeline editor's page: carries news between the islands, the forms and the keyboard.
// A group that was opened stays open when the server brings its form anew.
window.htmx.config.morphIgnore = [...(window.htmx.config.morphIgnore ?? []), "open"];

const editor = document.getElementById("flow-editor");
/** Edits that the server has not answered yet. */
let pending = 0;
const panel = () => document.getElementById("flow-panel");
// Where the tabs do not fit beside each other the open one is in sight.
document.querySelector("#flow-tabs .active")?.scrollIntoView({ block: "nearest", inline: "center" });

const hasForms = () => panel() !== null && panel().dataset.pane !== "schedule";

// htmx takes over the elements that it brings in, so the page only asks for the pane.
function showPanel(node) {
  const query = new URLSearchParams({ tab: editor.dataset.tab });
  if (node) query.set("node", node);
  return window.htmx.ajax("GET", `${editor.dataset.panelUrl}?${query}`, { target: "#flow-panel", swap: "outerMorph" });
}

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

document.addEventListener("flow:select", ({ detail }) => {
  if (hasForms() && (detail.id ?? "") !== panel().dataset.node) showPanel(detail.id);
});

document.addEventListener("flow:draft-changed", ({ detail }) => {
  if (detail?.origin !== "form") showPanel(panel()?.dataset.node);
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

// A form that was chosen by its link selects its node on the canvas, too.
let told = panel()?.dataset.node ?? "";
document.addEventListener("htmx:after:swap", () => {
  const node = panel()?.dataset.node ?? "";
  if (node === told) return;
  told = node;
  panel().scrollTop = 0; // Another node's form begins at its top.
  document.dispatchEvent(new CustomEvent("flow:select-node", { detail: { id: node } }));
});

const isTyping = (target) => target.closest("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], .cm-editor");

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  if (key === "s") {
    event.preventDefault();
    document.activeElement?.blur?.();
    document.getElementById("flow-save")?.requestSubmit();
  } else if ((key === "z" || key === "y") && !isTyping(event.target)) {
    event.preventDefault();
    document.getElementById(key === "y" || event.shiftKey ? "flow-redo" : "flow-undo")?.click();
  }
});
