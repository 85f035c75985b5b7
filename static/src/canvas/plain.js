// Helpers for values of documents, which may have any error.

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function text(value) {
  return typeof value === "string" ? value : "";
}

export function joined(parts, between) {
  return parts.filter((part) => typeof part === "string" && part).join(between);
}

export function rounded({ x, y }) {
  // -0 would be written as "-0".
  return { x: Math.round(x) + 0, y: Math.round(y) + 0 };
}
