// `<input type="checkbox" data-tick-all="row">`: selects all checkboxes of that name in its form, and shows whether all are
// selected. `<strong data-ticked="row">` in the form shows their number.
export function startTicking() {
  const boxes = (form, name) => [...form.elements].filter((box) => box.type === "checkbox" && box.name === name);
  document.addEventListener("change", (event) => {
    const { form, dataset, checked } = event.target;
    if (!form) return;
    if (dataset.tickAll) for (const box of boxes(form, dataset.tickAll)) box.checked = checked;
    for (const all of [...form.elements].filter((box) => box.dataset.tickAll)) {
      const mine = boxes(form, all.dataset.tickAll);
      const ticked = mine.filter((box) => box.checked).length;
      all.checked = ticked === mine.length;
      all.indeterminate = ticked > 0 && ticked < mine.length;
    }
    for (const shown of form.querySelectorAll("[data-ticked]")) {
      shown.textContent = boxes(form, shown.dataset.ticked).filter((box) => box.checked).length;
    }
  });
}
