// The actions on a column of the preview: a menu at its name, or at a cell with the value of the cell.
export function startColumnMenu(section, menu) {
  if (!menu) return;
  const form = menu.querySelector("form");
  const fields = form.elements;

  /** `unusable` is the reason why rows cannot be filtered by the value: "cut" or "returns". */
  function open(column, place, value, unusable = "") {
    form.reset();
    const result = section.querySelector("#node-preview-result");
    Object.assign(fields.node, { value: result.dataset.node });
    Object.assign(fields.column, { value: column.dataset.column });
    Object.assign(fields.type, { value: column.dataset.type });
    fields.rename_value.value = column.dataset.column;
    fields.cast_value.value = column.dataset.type;
    if (value !== undefined) {
      fields.keep_value_value.value = value ?? "";
      fields.is_null.checked = value === null;
    }
    offerReaders(result.dataset.readers.split(" ").filter(Boolean));
    for (const field of [fields.keep_value_value, fields.is_null, menu.querySelector("#np-keep-button")]) field.disabled = Boolean(unusable);
    for (const reason of ["cut", "returns"]) menu.querySelector(`#np-keep-${reason}`).hidden = reason !== unusable;
    menu.querySelector("#node-preview-menu-title").textContent = column.dataset.column;
    menu.showPopover();
    settle(menu, place.getBoundingClientRect());
    (value === undefined || unusable ? fields.rename_value : fields.keep_value_value).focus();
  }

  /** If several nodes read from the node, the user chooses whether to change one branch or all. */
  function offerReaders(readers) {
    const options = readers.length ? [["", "– Choose –"], ...readers.map((id) => [id, id]), ["*", "All of them"]] : [];
    fields.reader.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    fields.reader.disabled = !readers.length;
    menu.querySelector("#np-reader-line").hidden = !readers.length;
  }

  section.addEventListener("click", ({ target }) => {
    const column = target.closest(".node-preview-column");
    if (column) return open(column, column);
    const cell = target.closest("td[data-cell]");
    if (!cell || String(getSelection())) return;
    const columns = section.querySelectorAll(".node-preview-column");
    open(columns[cell.cellIndex - 2], cell, cell.querySelector("[data-null]") ? null : cell.textContent, ["cut", "returns"].find((reason) => reason in cell.dataset));
  });
  // Enter triggers the action of its line, not the first one. Shift+Enter inserts a line break in a value.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || !event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    event.preventDefault();
    event.target.closest(".node-preview-action").querySelector("button").click();
  });
  // htmx sends the edit; close the menu.
  form.addEventListener("submit", () => setTimeout(() => menu.hidePopover()));
}

/** Position the menu beside an element, within the window. */
function settle(menu, place) {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const below = place.bottom + 4;
  const top = below + height <= innerHeight ? below : Math.max(8, place.top - height - 4);
  menu.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8))}px`;
  menu.style.top = `${Math.min(top, Math.max(8, innerHeight - height - 8))}px`;
}
