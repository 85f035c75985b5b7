// `<form data-confirm="…">`: asks before it sends. Forms of htmx use hx-confirm.
// A button with `data-no-confirm` only looks at what the form would do.
export function startConfirming() {
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (event.submitter?.hasAttribute("data-no-confirm")) return;
    if (question && !confirm(question)) event.preventDefault();
  });
}
