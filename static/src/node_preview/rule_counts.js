// Shows at each rule in the form of a validate node what it would do to the rows of the node's preview.

/** `ask` requests a preview of the selected node, `showFailing` opens its failing rows. */
export function startRuleCounts(section, { ask, showFailing }) {
  /** The number of changes of the draft, now and at the request of the newest preview. */
  let changes = 0;
  let changesAsked = -1;
  let nodeAsked = "";
  let counted = null; // {preview, node, changes, extent, problem, lines: [{text, violations}]}
  let isTyped = false;
  let isSent = false;

  const panel = () => document.getElementById("flow-panel");
  const node = () => panel()?.dataset.node ?? "";
  const places = () => [...(panel()?.querySelectorAll("[data-rule-count]") ?? [])];
  const isUpToDate = () => counted?.node === node() && counted.changes === changes;

  function read() {
    const found = section.querySelector("#node-preview-counts");
    if (!found || found.dataset.preview === counted?.preview) return;
    const lines = [...found.children].map(({ textContent, dataset }) => ({ text: textContent, violations: Number(dataset.violations) }));
    counted = { ...found.dataset, changes: changesAsked, lines };
  }

  function show() {
    places().forEach((place, index) => place.replaceChildren(...partsOf(index)));
  }

  function partsOf(index) {
    if (!isUpToDate()) return [small("Counting rejected rows in a sample…")];
    if (counted.problem) return [small(`Not counted. ${counted.problem}`)];
    const line = counted.lines[index];
    if (!line) return [];
    if (isTyped) return [tag("span", "badge bg-secondary-lt", "Out of date"), small(line.text)];
    const parts = [tag("span", line.violations ? "node-preview-bad" : "", line.text), small(counted.extent)];
    if (line.violations) parts.push(link("Show failing rows", () => showFailing()));
    return parts;
  }

  document.addEventListener("input", ({ target }) => {
    if (!panel()?.contains(target) || isTyped) return;
    isTyped = true;
    show();
  });
  document.addEventListener("change", ({ target }) => {
    if (panel()?.contains(target)) isSent = true;
  });
  // Text that was typed and deleted again is not sent.
  document.addEventListener("focusout", ({ target }) => {
    if (!isTyped || isSent || !panel()?.contains(target)) return;
    isTyped = false;
    show();
  });
  document.addEventListener("flow:draft-changed", () => {
    changes += 1;
    isTyped = isSent = false;
    show();
  });
  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    read();
    show();
    const isAsked = changesAsked === changes && nodeAsked === node();
    if (places().length && !isUpToDate() && !isAsked && ctx.target?.id === "flow-panel") ask();
  });

  return {
    isWanted: (selected) => places().length > 0 && node() === selected,
    asked: (selected) => {
      changesAsked = changes;
      nodeAsked = selected;
    },
  };
}

function small(text) {
  return tag("small", "text-secondary", text);
}

function tag(name, className, text) {
  return Object.assign(document.createElement(name), { className, textContent: text });
}

function link(text, onclick) {
  return Object.assign(tag("button", "btn btn-link btn-sm p-0", text), { type: "button", onclick });
}
