// Finds the parts of a JSON Schema for a position in a document, which may be incomplete. Supports the keywords that describe
// structure ($ref, properties, items, oneOf, anyOf, allOf, if/then, const, enum); it does not validate.

/**
 * Return all schemas for the position `path` (keys and indices) in `value`, with references resolved, the most specific last.
 * Alternatives whose constants or types contradict `value` are excluded, unless that excludes all.
 */
export function schemasAt(root, value, path) {
  let here = resolve(root, root, value);
  for (const step of path) {
    value = isHolder(value) ? value[step] : undefined;
    here = here.flatMap((schema) => below(schema, step)).flatMap((schema) => resolve(root, schema, value));
  }
  return here;
}

/** Return the possible members of an object at a position: Map of key -> schemas. */
export function membersOf(root, schemas, value) {
  const members = new Map();
  for (const { properties = {} } of schemas) {
    for (const [key, schema] of Object.entries(properties)) {
      const known = members.get(key) ?? [];
      members.set(key, [...known, ...resolve(root, schema, isHolder(value) ? value[key] : undefined)]);
    }
  }
  return members;
}

/** Return the known values of a position without duplicates: constants, enums, true and false, the default. */
export function valuesOf(schemas) {
  const named = schemas.flatMap((schema) => [
    ...("const" in schema ? [schema.const] : (schema.enum ?? [])),
    ...(schema.type === "boolean" ? [true, false] : []),
    ...("default" in schema && !isHolder(schema.default) ? [schema.default] : []),
  ]);
  return [...new Set(named)];
}

/** Return {title, description, type} of a position, each "" if missing. The title includes the unit. */
export function wordsOf(schemas) {
  const last = (name) => schemas.map((schema) => schema[name]).findLast((word) => typeof word === "string") ?? "";
  const types = [...new Set(schemas.flatMap(({ type = [] }) => type))];
  const unit = last("unit");
  const title = unit ? `${last("title")} (${unit})` : last("title");
  return { title, description: last("description"), type: types.join(" or ") };
}

function resolve(root, schema, value) {
  if (typeof schema !== "object" || schema === null) return [];
  const { $ref, oneOf = [], anyOf = [], allOf = [], ...own } = schema;
  const named = $ref ? resolve(root, target(root, $ref), value) : [];
  const conditions = schema.if && holds(schema.if, value) ? [schema.then] : [];
  const all = [...allOf, ...conditions].flatMap((part) => resolve(root, part, value));
  // Keywords beside a $ref or a choice, such as a title, belong to this use.
  return [...named, ...all, ...choice(root, oneOf, value), ...choice(root, anyOf, value), own];
}

function choice(root, branches, value) {
  const all = branches.map((branch) => resolve(root, branch, value));
  const fitting = all.filter((schemas) => schemas.every((schema) => fits(root, schema, value)));
  return (fitting.length ? fitting : all).flat();
}

function fits(root, schema, value) {
  if (value === undefined) return true;
  if ("const" in schema) return value === schema.const;
  if (schema.type && ![schema.type].flat().some((type) => isOf(type, value))) return false;
  return Object.entries(schema.properties ?? {}).every(([key, part]) => {
    const known = isHolder(value) ? value[key] : undefined;
    return known === undefined || resolve(root, part, known).every((s) => !("const" in s) || s.const === known);
  });
}

function holds(condition, value) {
  if (!isHolder(value)) return false;
  const properties = Object.entries(condition.properties ?? {});
  return (condition.required ?? []).every((key) => key in value) && properties.every(([key, { const: c }]) => value[key] === c);
}

function isOf(type, value) {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isHolder(value) && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return type === "null" ? value === null : typeof value === type;
}

function below(schema, step) {
  if (typeof step === "number") return schema.items ? [schema.items] : [];
  if (schema.properties && Object.hasOwn(schema.properties, step)) return [schema.properties[step]];
  return typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : [];
}

function target(root, pointer) {
  const steps = pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce((part, step) => part?.[step], root);
}

function isHolder(value) {
  return typeof value === "object" && value !== null;
}
