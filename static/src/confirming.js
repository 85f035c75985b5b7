// `<form data-confirm="…">`: asks for confirmation before sending. htmx forms use hx-confirm.
// A button with `data-no-confirm` sends without confirmation, because it changes nothing.
export function startConfirming() {
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (event.submitter?.hasAttribute("data-no-confirm")) return;
    if (question && !confirm(question)) event.preventDefault();
  });
}
