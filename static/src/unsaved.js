// Unsaved text of forms. Leaving the page or sending another form asks for confirmation before the text is lost. After a
// sign-in or an error page, the sent values of a form are restored.
const TEXT = "textarea, input:not([type]), input:is([type=text], [type=number], [type=email], [type=url], [type=date], [type=datetime-local])";
const FORMS = "form[method=post]:not([data-unsaved=ignore])";
const STORE = "flow:entered";
const HOUR = 3600_000;
const sent = new WeakSet();

/** `data-entered` marks values that the server could not save and returned. */
const isChanged = (field) =>
  !field.readOnly && !field.disabled && (field.value !== field.defaultValue || (field.dataset.entered !== undefined && field.value !== ""));

export function changedIn(form) {
  return [...form.querySelectorAll(TEXT)].filter(isChanged);
}

const isInterruption = () => document.body.dataset.interrupts !== undefined;
const unsavedForms = () => (isInterruption() ? [] : allUnsaved());
const allUnsaved = () => [...document.querySelectorAll(FORMS)].filter((form) => !sent.has(form) && changedIn(form).length > 0);

/** Return whether leaving the page would lose text. Parts with their own text cancel the event `flow:leaving`. */
export function holdsUnsaved() {
  const isRefused = !document.dispatchEvent(new CustomEvent("flow:leaving", { cancelable: true }));
  const fields = document.querySelectorAll(`#flow-panel :is(${TEXT})`);
  return isRefused || unsavedForms().length > 0 || [...fields].some(isChanged);
}

/** Call this before the listeners that ask for confirmation are added. */
export function startUnsaved() {
  putBack();
  addEventListener("beforeunload", (event) => unsavedForms().length > 0 && event.preventDefault());
  // Navigating back restores the page, whose forms can be changed and sent again.
  addEventListener("pageshow", ({ persisted }) => persisted && document.querySelectorAll(FORMS).forEach((form) => sent.delete(form)));
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || !form.matches(FORMS)) return;
    const others = unsavedForms().filter((other) => other !== form);
    if (!others.length) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    ask(others, form, submitter);
  });
}

/** Call this after them: forms that are sent now need no confirmation. */
export function startSending() {
  document.addEventListener("submit", ({ defaultPrevented, target: form }) => {
    if (defaultPrevented || !form.matches(FORMS)) return;
    store(form);
    sent.add(form);
  });
}

function ask(others, form, submitter) {
  const number = others.flatMap(changedIn).length;
  const wanted = (submitter ?? form.querySelector("[type=submit]")).textContent.trim();
  const discard = () => {
    others.forEach((other) => other.reset());
    others.flatMap(changedIn).forEach((field) => delete field.dataset.entered);
    form.requestSubmit(submitter);
  };
  showQuestion(`${number} changed ${number === 1 ? "value is" : "values are"} not saved`, [
    ["Save changes first", "btn-primary", () => others[0].requestSubmit()],
    [`${wanted} without saving`, "", discard],
    ["Cancel", "btn-ghost-secondary", () => submitter?.focus()],
  ]);
}

function showQuestion(text, answers) {
  const [dialog, title, hint, buttons] = ["dialog", "h2", "p", "div"].map((tag) => document.createElement(tag));
  dialog.className = "flow-ask";
  dialog.setAttribute("aria-labelledby", "unsaved-title");
  Object.assign(title, { className: "h3", id: "unsaved-title", textContent: text });
  hint.textContent = "Save them first, or they are lost.";
  buttons.className = "btn-list";
  for (const [words, kind, answer] of answers) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: `btn ${kind}`, textContent: words });
    button.addEventListener("click", () => {
      dialog.close();
      answer();
    });
    buttons.append(button);
  }
  dialog.append(title, hint, buttons);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// --- through a sign-in or an error page ------------------------------------------------------------------------------

const here = () => location.pathname + location.search;

function store(form) {
  // Secrets are never stored.
  if (form.querySelector("[type=password]")) return;
  const fields = changedIn(form).map(({ name, value }) => [name, value]);
  if (fields.length) sessionStorage.setItem(STORE, JSON.stringify({ page: here(), at: Date.now(), action: form.getAttribute("action"), fields }));
}

function putBack() {
  const stored = JSON.parse(sessionStorage.getItem(STORE) ?? "null");
  if (!stored) return;
  if (isInterruption()) {
    sessionStorage.setItem(STORE, JSON.stringify({ ...stored, isInterrupted: true }));
    return;
  }
  const isHere = stored.page === here();
  if (isHere || !stored.isInterrupted || Date.now() - stored.at > HOUR) sessionStorage.removeItem(STORE);
  if (!isHere || !stored.isInterrupted) return;
  const form = [...document.querySelectorAll(FORMS)].find((one) => one.getAttribute("action") === stored.action);
  const places = stored.fields.map(([name, value]) => [form?.elements.namedItem(name), value]).filter(([field]) => field?.matches?.(TEXT));
  for (const [field, value] of places) field.value = value;
  if (places.length) {
    const detail = { text: "Your input is restored in the form. It is not saved yet.", kind: "info" };
    document.dispatchEvent(new CustomEvent("flow:toast", { detail }));
  }
}
