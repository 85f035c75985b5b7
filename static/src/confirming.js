// `<form data-confirm="…">`: asks before it sends. Forms of htmx use hx-confirm.
export function startConfirming() {
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
}
