// The light in the top bar must not stay green when the server no longer answers.
export function startHealth() {
  document.addEventListener("htmx:error", (event) => {
    const light = event.target.closest?.("#health-light");
    if (!light) return;
    event.stopImmediatePropagation(); // the request repeats every 15 seconds: one notice in its place is enough
    const badge = light.querySelector(".badge");
    if (!badge) return;
    badge.className = "badge bg-secondary-lt state";
    badge.textContent = "Unknown";
    document.getElementById("health-alerts").textContent = "The server does not answer. Look at the network, and whether Flow is running.";
  });
}
