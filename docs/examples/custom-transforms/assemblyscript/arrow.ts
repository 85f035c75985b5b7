// Reads and writes columns of text as an Arrow IPC stream. The format is that of
// https://arrow.apache.org/docs/format/Columnar.html; the metadata are Flatbuffers.

const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;
const UTF8: u8 = 5;
const VERSION_5: i16 = 4;

/** A column of text. `null` is NULL. */
export type Texts = Array<string | null>;

/** The columns of a stream: names, and the texts of each. `error` says why it cannot be read. */
export class Columns {
  names: string[] = [];
  texts: Texts[] = [];
  error: string = "";
}

/** Read a stream with at most one record batch. Addresses are those of the memory. */
export function readTexts(start: usize, size: usize): Columns {
  const found = new Columns();
  let at = start;
  while (at + 8 <= start + size && load<u32>(at + 4) != 0) {
    const metadata = at + 8;
    const message = metadata + load<u32>(metadata);
    const body = metadata + load<u32>(at + 4);
    const header = follow(fieldOf(message, 2));
    const kind = load<u8>(fieldOf(message, 1));
    if (kind == SCHEMA) readNames(header, found);
    else if (kind == RECORD_BATCH && found.error == "") readBatch(header, body, found);
    const length = fieldOf(message, 3);
    at = body + (length != 0 ? <usize>load<i64>(length) : 0);
  }
  return found;
}

function readNames(schema: usize, found: Columns): void {
  const fields = follow(fieldOf(schema, 1));
  for (let i: u32 = 0; i < load<u32>(fields); i++) {
    const field = follow(fields + 4 + 4 * i);
    const name = follow(fieldOf(field, 0));
    found.names.push(String.UTF8.decodeUnsafe(name + 4, load<u32>(name)));
    found.texts.push([]);
    if (load<u8>(fieldOf(field, 2)) != UTF8) found.error = found.names[i] + " is not text";
  }
}

function readBatch(batch: usize, body: usize, found: Columns): void {
  const rows = <i32>load<i64>(fieldOf(batch, 0));
  const buffers = follow(fieldOf(batch, 2)) + 4;
  for (let column = 0; column < found.names.length; column++) {
    // A text column has three buffers, each an offset and a length: validity, offsets and bytes.
    const place = buffers + 48 * column;
    const validity = body + <usize>load<i64>(place);
    const hasValidity = load<i64>(place + 8) > 0;
    const ends = body + <usize>load<i64>(place + 16);
    const values = body + <usize>load<i64>(place + 32);
    for (let row = 0; row < rows; row++) {
      const first = load<u32>(ends + 4 * row);
      const isNull = hasValidity && ((load<u8>(validity + (row >> 3)) >> <u8>(row & 7)) & 1) == 0;
      let text: string | null = null;
      if (!isNull) text = String.UTF8.decodeUnsafe(values + first, load<u32>(ends + 4 * row + 4) - first);
      found.texts[column].push(text);
    }
  }
}

function follow(at: usize): usize {
  return at + load<u32>(at);
}

/** The address of a field of a table, or 0 if it is absent. */
function fieldOf(table: usize, number: i32): usize {
  const fields = table - load<i32>(table);
  if (4 + 2 * number >= <i32>load<u16>(fields)) return 0;
  const offset = load<u16>(fields + 4 + 2 * number);
  return offset != 0 ? table + offset : 0;
}

/** Bytes that grow. A Flatbuffer is written from its beginning to its end: what is referred to follows. */
class Bytes {
  all: StaticArray<u8> = new StaticArray<u8>(1024);
  size: i32 = 0;

  grow(more: i32): i32 {
    const start = this.size;
    this.size += more;
    if (this.size > this.all.length) {
      const larger = new StaticArray<u8>(this.size * 2);
      memory.copy(changetype<usize>(larger), changetype<usize>(this.all), start);
      this.all = larger;
    }
    return start;
  }

  put<T>(value: T): i32 {
    const at = this.grow(sizeof<T>());
    store<T>(changetype<usize>(this.all) + at, value);
    return at;
  }

  set<T>(at: i32, value: T): void {
    store<T>(changetype<usize>(this.all) + at, value);
  }

  pad(to: i32): void {
    while (this.size % to != 0) this.put<u8>(0);
  }

  append(other: Bytes): void {
    const at = this.grow(other.size);
    memory.copy(changetype<usize>(this.all) + at, changetype<usize>(other.all), other.size);
  }

  text(value: string): i32 {
    const size = String.UTF8.byteLength(value);
    const at = this.grow(size);
    String.UTF8.encodeUnsafe(changetype<usize>(value), value.length, changetype<usize>(this.all) + at);
    return size;
  }

  /** Let the reference at `at` point to the end. */
  refer(at: i32): void {
    this.set<u32>(at, this.size - at);
  }

  /** Append the fields of a table and its start: `places` are the offsets of its fields, `size` is its size. */
  table(places: StaticArray<u16>, size: u16, reference: i32): i32 {
    const fields = 4 + 2 * places.length;
    while ((this.size + fields) % 8 != 0) this.put<u8>(0);
    this.put<u16>(<u16>fields);
    this.put<u16>(size);
    for (let i = 0; i < places.length; i++) this.put<u16>(places[i]);
    this.refer(reference);
    const start = this.put<i32>(fields);
    this.grow(size - 4);
    return start;
  }

  /** Begin a vector of structs with numbers of 8 bytes. */
  structs(reference: i32, count: u32): void {
    while (this.size % 8 != 4) this.put<u8>(0);
    this.refer(reference);
    this.put<u32>(count);
  }

  /** Append the table of a message, and return where it refers to its header. */
  message(kind: u8, body: i64): i32 {
    const root = this.put<u32>(0);
    const table = this.table([4, 6, 8, 16], 24, root);
    this.set<i16>(table + 4, VERSION_5);
    this.set<u8>(table + 6, kind);
    this.set<i64>(table + 16, body);
    return table + 8;
  }
}

function schemaOf(names: string[]): Bytes {
  const made = new Bytes();
  const header = made.message(SCHEMA, 0);
  const schema = made.table([0, 4], 8, header);
  made.pad(4);
  made.refer(schema + 4);
  const vector = made.put<u32>(names.length) + 4;
  made.grow(4 * names.length);
  for (let i = 0; i < names.length; i++) {
    const field = made.table([4, 8, 9, 12], 16, vector + 4 * i);
    made.set<u8>(field + 8, 1);
    made.set<u8>(field + 9, UTF8);
    made.table([], 4, field + 12);
    made.pad(4);
    made.refer(field + 4);
    const length = made.put<u32>(0);
    made.set<u32>(length, made.text(names[i]));
    made.put<u8>(0);
  }
  return made;
}

function batchOf(columns: Columns): Bytes {
  const rows = columns.texts[0].length;
  const body = new Bytes();
  const nodes: i64[] = [];
  const places: i64[] = [];
  for (let column = 0; column < columns.texts.length; column++) addColumn(body, columns.texts[column], nodes, places);
  const made = new Bytes();
  const header = made.message(RECORD_BATCH, body.size);
  const batch = made.table([8, 4, 16], 24, header);
  made.set<i64>(batch + 8, rows);
  made.structs(batch + 4, nodes.length / 2);
  for (let i = 0; i < nodes.length; i++) made.put<i64>(nodes[i]);
  made.structs(batch + 16, places.length / 2);
  for (let i = 0; i < places.length; i++) made.put<i64>(places[i]);
  return framed(made, body);
}

function addColumn(body: Bytes, texts: Texts, nodes: i64[], places: i64[]): void {
  const rows = texts.length;
  let nulls = 0;
  const validity = body.grow((rows + 7) >> 3);
  places.push(validity);
  places.push(body.size - validity);
  body.pad(8);
  const ends = body.grow(4 * (rows + 1));
  places.push(ends);
  places.push(body.size - ends);
  body.pad(8);
  const values = body.size;
  for (let row = 0; row < rows; row++) {
    const text = texts[row];
    if (text === null) nulls++;
    else {
      const bits = changetype<usize>(body.all) + validity + (row >> 3);
      store<u8>(bits, load<u8>(bits) | (1 << <u8>(row & 7)));
      body.text(text);
    }
    body.set<i32>(ends + 4 * (row + 1), body.size - values);
  }
  places.push(values);
  places.push(body.size - values);
  body.pad(8);
  nodes.push(rows);
  nodes.push(nulls);
}

function framed(metadata: Bytes, body: Bytes): Bytes {
  metadata.pad(8);
  const made = new Bytes();
  made.put<u32>(0xffffffff);
  made.put<u32>(metadata.size);
  made.append(metadata);
  made.append(body);
  return made;
}

/** Return the address and the length of a stream, as `flow_prepare` and `flow_apply` return them. */
export function writeTexts(columns: Columns): i64 {
  const made = framed(schemaOf(columns.names), new Bytes());
  if (columns.texts.length > 0) made.append(batchOf(columns));
  made.put<u32>(0xffffffff);
  made.put<u32>(0);
  return packed(changetype<usize>(made.all), made.size);
}

/** Return an address and a length in one number. */
export function packed(at: usize, size: i32): i64 {
  return (<i64>at << 32) | <i64>size;
}
