// Places and changes in plain text.

/** The line separator with which an editor gives a text back byte for byte: lone and mixed ones stay signs in lines. */
export function separatorOf(text) {
  const hasCrlf = text.includes("\r\n");
  return hasCrlf && !/\r(?!\n)|(?<!\r)\n/.test(text) ? "\r\n" : "\n";
}

/** The one change from `old` to `text` without what both begin and end with: {from, to, insert}, or null. */
export function changeBetween(old, text) {
  if (old === text) return null;
  const limit = Math.min(old.length, text.length);
  let start = 0;
  while (start < limit && old[start] === text[start]) start++;
  let end = 0;
  while (end < limit - start && old.at(-1 - end) === text.at(-1 - end)) end++;
  return { from: start, to: old.length - end, insert: text.slice(start, text.length - end) };
}

/** The offset in a line, in UTF-16 units, of a column that counts characters from 1. */
export function offsetInLine(line, column) {
  return [...line].slice(0, column - 1).join("").length;
}

/** The steps of a JSON Pointer. */
export function stepsOf(pointer) {
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
