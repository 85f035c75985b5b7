// `<input type="checkbox" data-tick-all="row">`: ticks all boxes of that name in its form, and shows whether all are.
export function startTicking() {
  const boxes = (form, name) => [...form.querySelectorAll(`input[type=checkbox][name="${CSS.escape(name)}"]`)];
  document.addEventListener("change", (event) => {
    const { form, dataset, checked } = event.target;
    if (!form) return;
    if (dataset.tickAll) for (const box of boxes(form, dataset.tickAll)) box.checked = checked;
    for (const all of form.querySelectorAll("[data-tick-all]")) {
      const mine = boxes(form, all.dataset.tickAll);
      const ticked = mine.filter((box) => box.checked).length;
      all.checked = ticked === mine.length;
      all.indeterminate = ticked > 0 && ticked < mine.length;
    }
  });
}
