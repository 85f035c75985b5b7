// If the session ends while the user works, entered text stays on the page and can be sent after a new sign-in.
import { cookieToken } from "./csrf.js";
import { holdsUnsaved } from "./unsaved.js";

export function startSignedOut(login) {
  document.addEventListener("htmx:before:response", (event) => {
    const { hx } = event.detail.ctx;
    if (!hx.redirect?.startsWith(login) || !holdsUnsaved()) return;
    event.preventDefault();
    showNotice(hx.redirect);
  });
  // A sign-in in another tab changes the token of the page.
  document.addEventListener("htmx:config:request", ({ detail }) => {
    const token = cookieToken();
    if (token) detail.ctx.request.headers["X-CSRFToken"] = token;
  });
  document.addEventListener("submit", ({ target }) => {
    const [field, token] = [target.elements.namedItem("csrfmiddlewaretoken"), cookieToken()];
    if (field && token) field.value = token;
  }, true);
}

function showNotice(address) {
  const messages = document.getElementById("messages");
  if (messages.querySelector("[data-signed-out]")) return;
  const [notice, title, text, link] = ["div", "h2", "p", "a"].map((tag) => document.createElement(tag));
  Object.assign(notice, { className: "alert alert-warning d-block", role: "alert" }).dataset.signedOut = "";
  Object.assign(title, { className: "alert-heading h4", textContent: "You are signed out" });
  Object.assign(link, { href: address, target: "_blank", className: "alert-link", textContent: "Sign in on a new tab" });
  text.append("What you entered is still here. ", link, ", then come back and repeat your last step.");
  notice.append(title, text);
  messages.append(notice);
  notice.scrollIntoView({ block: "nearest" });
}
