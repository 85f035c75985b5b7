// Clicks and submits that would overtake a text on its way to the server (Save, Undo, another tab) wait for it.

/** `isPending()` tells whether something is on its way; `settle()` waits and tells whether it arrived. Gives the end. */
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
      // Links may be followed all the same: the browser asks before it leaves a text behind.
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
