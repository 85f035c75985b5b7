// The help of the focused field, in a place of its own below the form. Screen readers get it from the field itself.
const bar = () => document.getElementById("flow-help");

export function startHelp() {
  document.addEventListener("focusin", show);
  document.addEventListener("htmx:after:swap", show);
  show();
}

function show() {
  const field = document.activeElement?.closest("#flow-panel [aria-describedby]");
  const help = field && document.getElementById(field.getAttribute("aria-describedby").split(" ").find((id) => id.endsWith("-help")));
  if (bar()) bar().textContent = help?.textContent ?? field?.title ?? "Go to a field to read what it is for.";
}
