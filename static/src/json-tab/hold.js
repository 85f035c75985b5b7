// Delays clicks and submits (Save, Undo, another tab) until the text was sent to the server.

/** `isPending()` returns whether text is unsent; `settle()` sends it and resolves to whether it was accepted. Return the function that ends this. */
export function holdBack(root, isPending, settle) {
  const held = (event) => {
    const control = event.type === "submit" ? event.target : event.target.closest("a[href], button");
    const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0;
    if (!control || root.contains(control) || isOther || !isPending()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const { submitter } = event;
    settle().then((arrived) => {
      if (arrived && event.type === "submit") control.requestSubmit(submitter);
      else if (arrived) control.click();
      // Follow links anyway: the browser asks before unsaved text is lost.
      else if (control.href) location.assign(control.href);
    });
  };
  document.addEventListener("click", held, true);
  document.addEventListener("submit", held, true);
  return () => {
    document.removeEventListener("click", held, true);
    document.removeEventListener("submit", held, true);
  };
}
