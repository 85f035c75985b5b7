// Row counts of the last run for nodes and edges.
const LONG = 1_000_000;
const exact = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export function rows(number) {
  return number >= LONG ? short.format(number) : exact.format(number);
}

/** Return the counts of a node: [{name, number}], without those that do not apply to its kind. */
export function countsOf(kind, numbers) {
  if (!numbers) return [];
  const all = [
    { name: "read", number: kind === "source" ? numbers.in : null },
    { name: "in", number: kind === "source" ? null : numbers.in },
    { name: "out", number: kind === "source" || kind === "target" ? null : numbers.out },
    { name: "loaded", number: kind === "target" ? numbers.loaded : null },
    { name: "rejected", number: numbers.rejected },
  ];
  return all.filter(({ name, number }) => number !== null && number !== undefined && (name !== "rejected" || number > 0));
}

/** Return the number of rows that went along an edge, or undefined. Of an edge to a node that unites rows, these are the rows of its start. */
export function rowsBetween(numbers, from, to) {
  const [before, after] = [numbers?.[from.id], numbers?.[to.id]];
  if (!before || !after) return undefined;
  return to.unites ? before.out : after.in;
}

export function spokenCounts(counts) {
  return counts.map(({ name, number }) => `${exact.format(number)} rows ${name}`).join(", ");
}
