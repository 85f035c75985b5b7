const FIELDS = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable], .cm-editor";

/** Whether keys at this element enter text, so that they are no shortcuts. */
export const isTyping = (element) => element.closest?.(FIELDS) != null;
