// Positions and changes in plain text.

/** Return the line separator with which an editor returns the same bytes. Other separators stay characters within lines. */
export function separatorOf(text) {
  const hasCrlf = text.includes("\r\n");
  return hasCrlf && !/\r(?!\n)|(?<!\r)\n/.test(text) ? "\r\n" : "\n";
}

/** Return the change from `old` to `text` without their common prefix and suffix: {from, to, insert}, or null. */
export function changeBetween(old, text) {
  if (old === text) return null;
  const limit = Math.min(old.length, text.length);
  let start = 0;
  while (start < limit && old[start] === text[start]) start++;
  let end = 0;
  while (end < limit - start && old.at(-1 - end) === text.at(-1 - end)) end++;
  return { from: start, to: old.length - end, insert: text.slice(start, text.length - end) };
}

/** Return the offset in a line, in UTF-16 code units, of a column that counts characters from 1. */
export function offsetInLine(line, column) {
  return [...line].slice(0, column - 1).join("").length;
}

/** The steps of a JSON Pointer. */
export function stepsOf(pointer) {
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
