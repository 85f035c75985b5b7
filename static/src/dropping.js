// `<form data-drop="send">`: a file that is dropped on it, or chosen in it, is sent at once. With `data-drop="choose"` a dropped
// file is only put into its field.
export function startDropping() {
  const form = document.querySelector("form[data-drop]");
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const took = () => form.dataset.drop === "send" && input.files.length > 0 && send(form, input.files[0]);
  input.addEventListener("change", took);
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("flow-dropping");
  });
  form.addEventListener("dragleave", ({ relatedTarget }) => form.contains(relatedTarget) || form.classList.remove("flow-dropping"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("flow-dropping");
    if (event.dataTransfer.files.length === 0) return;
    input.files = event.dataTransfer.files;
    took();
  });
  // Navigating back restores the page, from which the same file can be sent again.
  addEventListener("pageshow", ({ persisted }) => persisted && form.reset());
}

function send(form, file) {
  form.querySelector("[data-drop-status]").textContent = `Uploading ${file.name}…`;
  form.requestSubmit();
}
