// Opens and resizes the preview, stores both in this browser, and requests the rows of the selected node.
import { startRuleCounts } from "./rule_counts.js";

const REMEMBERED = "flow.nodePreview";
const LEAST_HEIGHT = 120;
const STEP = 24;
const WAIT = 350; // milliseconds: who types or walks along nodes asks once

export function startPreview(section) {
  const find = (name) => section.querySelector(`#node-preview-${name}`);
  const [toggle, content, resizer, form] = ["toggle", "content", "resizer", "form"].map(find);
  const settings = { open: false, height: 260, ...remembered() };
  let waiting = 0;
  let askedFor = null;

  const mostHeight = () => Math.max(LEAST_HEIGHT, Math.round(innerHeight * 0.7));
  function show() {
    toggle.setAttribute("aria-expanded", settings.open);
    for (const part of [content, resizer, section.querySelector(".node-preview-controls")]) part.hidden = !settings.open;
    const height = Math.min(Math.max(settings.height, LEAST_HEIGHT), mostHeight());
    content.style.height = `${height}px`;
    const range = { min: LEAST_HEIGHT, max: mostHeight(), now: height };
    for (const [name, value] of Object.entries(range)) resizer.setAttribute(`aria-value${name}`, value);
  }
  function keep(changes) {
    Object.assign(settings, changes);
    try {
      localStorage.setItem(REMEMBERED, JSON.stringify(settings));
    } catch {
      // Without storage, every visit starts with the defaults.
    }
    show();
  }

  const counts = startRuleCounts(section, { ask, showFailing });

  /** Request the rows of the selected node, for the panel or for its rules, after a short pause without changes. */
  function ask() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const node = form.elements.node.value;
      if (!node || document.hidden || !(settings.open || counts.isWanted(node))) return;
      askedFor = node;
      counts.asked(node);
      section.dataset.node = node;
      window.htmx.trigger(form, "preview");
    }, WAIT);
  }
  function select(node) {
    form.elements.node.value = node;
    find("name").textContent = node ? ` of ${node}` : "";
    if (node && node !== askedFor) ask();
  }

  function showFailing() {
    form.elements.sample.value = "failing";
    keep({ open: true });
    ask();
    section.scrollIntoView({ block: "nearest" });
  }

  toggle.addEventListener("click", () => {
    keep({ open: !settings.open });
    // The panel may now cover the selected node.
    const id = form.elements.node.value;
    if (id) document.dispatchEvent(new CustomEvent("flow:select-node", { detail: { id } }));
    ask();
  });
  form.elements.sample.addEventListener("change", ask);
  form.addEventListener("submit", () => {
    form.elements.seed.value = Math.floor(Math.random() * 2 ** 31);
  });
  find("cancel").addEventListener("click", () => {
    const target = find("state");
    if (!target.dataset.cancel) return;
    find("again").focus(); // Cancel is hidden once it has ended
    window.htmx.ajax("POST", target.dataset.cancel, { target, swap: "outerHTML" });
  });
  // The state asks for itself while it waits; its answer may replace the one that this request is for, up to the end of
  // the answer to this one: from here to the swap nothing else runs.
  document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    if (ctx.target?.id === "node-preview-state" && !ctx.target.isConnected) ctx.target = find("state");
  });
  document.addEventListener("flow:select", ({ detail }) => detail.id && select(detail.id));
  document.addEventListener("flow:select-node", ({ detail }) => detail.id && select(detail.id));
  document.addEventListener("flow:draft-changed", () => ask());
  startResizing(resizer, content, (height) => keep({ height }));

  show();
  select(form.elements.node.value);
}

/** Resize by dragging the upper edge or with the arrow keys. */
function startResizing(resizer, content, resize) {
  resizer.addEventListener("keydown", (event) => {
    const height = content.offsetHeight;
    const wanted = { ArrowUp: height + STEP, ArrowDown: height - STEP, Home: LEAST_HEIGHT, End: innerHeight }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    resize(Math.min(Math.max(wanted, LEAST_HEIGHT), innerHeight * 0.7));
  });
  resizer.addEventListener("pointerdown", (event) => {
    const bottom = event.clientY + content.offsetHeight;
    const move = ({ clientY }) => resize(Math.round(Math.min(Math.max(bottom - clientY, LEAST_HEIGHT), innerHeight * 0.7)));
    resizer.setPointerCapture(event.pointerId);
    resizer.addEventListener("pointermove", move);
    resizer.addEventListener("lostpointercapture", () => resizer.removeEventListener("pointermove", move), { once: true });
  });
}

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(REMEMBERED)) ?? {};
  } catch {
    return {};
  }
}
