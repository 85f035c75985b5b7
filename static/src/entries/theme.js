// Sets the theme before the page is drawn. The choice is stored in this browser: "light", "dark" or nothing (the system's).
const dark = matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try {
    return localStorage.getItem("flow-theme") ?? "system";
  } catch {
    return "system";
  }
}

function apply() {
  const choice = chosen();
  const theme = choice === "system" ? (dark.matches ? "dark" : "light") : choice;
  document.documentElement.dataset.bsTheme = theme;
  document.dispatchEvent(new CustomEvent("flow:theme", { detail: { choice, theme } }));
}

window.flowTheme = {
  chosen,
  choose(choice) {
    try {
      if (choice === "system") localStorage.removeItem("flow-theme");
      else localStorage.setItem("flow-theme", choice);
    } finally {
      apply();
    }
  },
};
dark.addEventListener("change", apply);
apply();
