// `<button data-copy="#id">` copies the text of an element, such as a token that is shown once.
export function startCopying() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    const done = await write(source.value ?? source.textContent.trim(), source);
    const detail = done ? { text: "Copied.", kind: "success" } : { text: "Select the text and copy it manually.", kind: "warning" };
    document.dispatchEvent(new CustomEvent("flow:toast", { detail }));
  });
}

async function write(text, source) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    source.select?.(); // no clipboard without TLS on other machines
    return false;
  }
}
