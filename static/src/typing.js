const FIELDS = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], .cm-editor";

/** Return whether keys at this element enter text and must not trigger shortcuts. */
export const isTyping = (element) => element.closest?.(FIELDS) != null;
