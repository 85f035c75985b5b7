// The country of an IBAN. A row whose IBAN has a wrong check digit is rejected.

import { Columns, packed, readTexts, Texts, writeTexts } from "./arrow";

let why = "";

export function flow_alloc(size: usize): usize {
  return heap.alloc(size);
}

/** Return the columns of the results. Only one column is expected. */
export function flow_prepare(schema: usize, schemaSize: usize, config: usize, configSize: usize): i64 {
  const given = readTexts(schema, schemaSize);
  if (given.error != "" || given.names.length != 1) {
    why = given.error != "" ? given.error : "one input is expected, not " + given.names.length.toString();
    return 0;
  }
  return writeTexts(results([]));
}

export function flow_apply(rows: usize, size: usize): i64 {
  const ibans = readTexts(rows, size).texts[0];
  const countries: Texts = [];
  const errors: Texts = [];
  for (let row = 0; row < ibans.length; row++) {
    const iban = ibans[row];
    let country: string | null = null;
    let error: string | null = null;
    if (iban !== null) {
      error = errorOf(iban);
      if (error === null) country = normal(iban).substring(0, 2);
    }
    countries.push(country);
    errors.push(error);
  }
  return writeTexts(results([countries, errors]));
}

export function flow_error(): i64 {
  const text = String.UTF8.encode(why);
  return packed(changetype<usize>(text), text.byteLength);
}

function results(texts: Texts[]): Columns {
  const made = new Columns();
  made.names = ["country", "_error"];
  made.texts = texts;
  return made;
}

function normal(iban: string): string {
  return iban.replaceAll(" ", "").toUpperCase();
}

/** The reason why the row is rejected, or null. */
function errorOf(iban: string): string | null {
  const text = normal(iban);
  const moved = text.substring(4) + text.substring(0, 4);
  if (text.length < 15 || text.length > 34) return "this is no IBAN";
  let rest = 0;
  for (let i = 0; i < moved.length; i++) {
    const one = moved.charCodeAt(i);
    const isDigit = one >= 48 && one <= 57;
    const isLetter = one >= 65 && one <= 90;
    const isCountry = i == moved.length - 4 || i == moved.length - 3;
    if (!isLetter && (!isDigit || isCountry)) return "this is no IBAN";
    rest = isDigit ? (rest * 10 + one - 48) % 97 : (rest * 100 + one - 55) % 97;
  }
  return rest == 1 ? null : "the check digits of the IBAN are wrong";
}
