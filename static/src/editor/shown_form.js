// Shows the form of the node that the user selected last, in whatever order responses arrive.
import { focusForm } from "./keyboard.js";

const panel = () => document.getElementById("flow-panel");
const hasForms = () => panel() !== null && panel().dataset.pane !== "schedule";
const shown = () => panel()?.dataset.node ?? "";

/** An empty node id means the settings of the pipeline. */
export function startShownForm(editor) {
  let chosen = shown();
  /** The number of selections: a response that was requested before the last selection is outdated. */
  let choices = 0;
  let seen = chosen;
  /** Requests whose response replaces the panel. */
  const underWay = new Set();
  /** The item that gets the focus once the form is shown: its position in the document, or "" for the first field. */
  let focusWanted = null;

  function choose(node) {
    if (node === chosen) return;
    chosen = node;
    choices += 1;
    if (hasForms() && (underWay.size || shown() !== node)) ask();
  }

  /** Request the selected form after pending requests: each response replaces the previous one. */
  function ask() {
    const query = new URLSearchParams({ tab: editor.dataset.tab });
    if (chosen) query.set("node", chosen);
    // The editor is the source, because the panel may be replaced before the request is sent.
    window.htmx.ajax("GET", `${editor.dataset.panelUrl}?${query}`, { source: editor, target: "#flow-panel", swap: "outerMorph", followsChoice: true });
  }

  function focusOnceShown(at) {
    focusWanted = at;
    if (!underWay.size && shown() === chosen) focusNow();
  }

  function focusNow() {
    if (focusWanted !== null) focusForm(focusWanted);
    focusWanted = null;
  }

  const tellIslands = (isChoice) =>
    document.dispatchEvent(new CustomEvent("flow:select-node", { detail: { id: chosen, isChoice } }));

  document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
    if (ctx.target?.id !== "flow-panel") return;
    const { pathname, searchParams } = new URL(ctx.request.action, location.href);
    const node = searchParams.get("node") ?? "";
    // A link to a form in the panel.
    if (pathname === editor.dataset.panelUrl && !ctx.followsChoice && node !== chosen) {
      chosen = node;
      choices += 1;
      tellIslands(true);
    }
    Object.assign(ctx, { node, choices });
    underWay.add(ctx);
  });
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    if (underWay.has(ctx) && !ctx.target.isConnected) ctx.target = panel();
  });
  document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
    // What the user has entered in the meantime is sent before the form of another node replaces the field.
    if (underWay.has(ctx) && ctx.node !== shown() && panel()?.contains(document.activeElement)) document.activeElement.blur();
  });
  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    if (!underWay.has(ctx) || !hasForms()) return;
    if (shown() !== seen) panel().querySelector(".card-body").scrollTo({ top: 0 }); // Another node's form begins at its top.
    seen = shown();
    if (seen === chosen) return;
    // The answer may show another form than the one asked for: the node has a new ID, or is gone.
    if (ctx.choices !== choices || ctx.node !== chosen) return;
    chosen = seen;
    tellIslands(false);
  });
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
    if (!underWay.delete(ctx) || underWay.size) return;
    // An answer to this very choice is the last word, also where it is an error.
    const isOfChoice = ctx.node === chosen && ctx.choices === choices;
    if (hasForms() && shown() !== chosen && !isOfChoice) return ask();
    focusNow();
  });

  document.addEventListener("flow:select", ({ detail }) => choose(detail.id ?? ""));
  document.addEventListener("flow:open-form", ({ detail }) => {
    choose(detail.id ?? "");
    tellIslands(true);
    focusOnceShown(detail.at ?? "");
  });
  document.addEventListener("flow:draft-changed", ({ detail }) => {
    if (detail?.origin !== "form" && hasForms()) ask();
  });
}
