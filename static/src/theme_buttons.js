// The three buttons of the user menu: system, light, dark.
export function startThemeButtons() {
  const buttons = [...document.querySelectorAll("[data-theme-choice]")];
  const show = () =>
    buttons.forEach((button) =>
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === window.flowTheme.chosen())),
    );
  buttons.forEach((button) =>
    button.addEventListener("click", () => {
      window.flowTheme.choose(button.dataset.themeChoice);
      show();
    }),
  );
  show();
}
