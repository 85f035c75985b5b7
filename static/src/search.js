// Ctrl-K: a dialog whose results come from the server; arrow keys choose, Enter opens.
export function startSearch() {
  const dialog = document.getElementById("search");
  if (!dialog) return;
  const input = dialog.querySelector("input");
  const links = () => [...dialog.querySelectorAll("#search-results a")];

  const ask = () => input.dispatchEvent(new Event("flow:search-opened", { bubbles: true }));
  const open = () => {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
    ask();
  };
  // The user may have typed before htmx was listening.
  input.addEventListener("htmx:after:init", () => dialog.open && ask());

  document.querySelectorAll("[data-open-search]").forEach((button) => button.addEventListener("click", open));
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      move(links(), input, step);
    } else if (event.key === "Enter" && event.target === input) {
      event.preventDefault();
      links()[0]?.click();
    }
  });
}

function move(links, input, step) {
  const places = [input, ...links];
  const now = Math.max(0, places.indexOf(document.activeElement));
  places[(now + step + places.length) % places.length].focus();
}
