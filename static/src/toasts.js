// Shows results of actions for a few seconds: from the event "flow:toast" {text, kind}, or from elements of the page.
const SECONDS = 6;

export function startToasts() {
  document.addEventListener("flow:toast", (event) => add(event.detail.text, event.detail.kind));
  document.addEventListener("htmx:error", () => add("The server did not answer. Check the network connection and try again.", "danger"));
  document.querySelectorAll("#toasts .toast").forEach(start);
}

function add(text, kind = "success") {
  const toast = document.getElementById("toast-template").content.firstElementChild.cloneNode(true);
  toast.classList.add(`toast-${kind}`);
  toast.querySelector("[data-text]").textContent = text;
  document.getElementById("toasts").append(toast);
  start(toast);
}

function start(toast) {
  toast.classList.add("show");
  const end = () => toast.remove();
  let timer = setTimeout(end, SECONDS * 1000);
  toast.addEventListener("mouseenter", () => clearTimeout(timer));
  toast.addEventListener("mouseleave", () => (timer = setTimeout(end, SECONDS * 1000)));
  toast.querySelector("[data-close]").addEventListener("click", end);
}
