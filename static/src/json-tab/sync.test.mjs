import assert from "node:assert/strict";
import { test } from "node:test";
import { DraftSync } from "./sync.js";

// The server's rule: a text is taken at the position that it was made from, and the position then rises.
class Server {
  constructor(text) {
    Object.assign(this, { text, position: 1, writes: 0 });
  }
  now() {
    return { text: this.text, position: this.position, diagnostics: [] };
  }
  async read() {
    return this.now();
  }
  async write(text, from) {
    this.writes++;
    if (from.position !== this.position) throw Object.assign(new Error("moved"), { isConflict: true });
    this.change(text);
    return this.now();
  }
  change(text) {
    this.text = text;
    this.position++;
  }
}

class Editor {
  constructor() {
    Object.assign(this, { text: "", states: [], conflicts: [], shown: 0 });
  }
  getText() {
    return this.text;
  }
  replace({ text }) {
    this.text = text;
  }
  show() {
    this.shown++;
  }
  conflict(draft) {
    this.conflicts.push(draft.text);
  }
  state(name) {
    this.states.push(name);
  }
}

async function opened(text = "a") {
  const [server, editor] = [new Server(text), new Editor()];
  const sync = new DraftSync(server, editor, () => {});
  await sync.load();
  const type = (typed) => {
    editor.text = typed;
    sync.edited();
  };
  return { server, editor, sync, type };
}

test("what is typed reaches the server, once", async () => {
  const { server, sync, type } = await opened();
  type("ab");
  type("abc");
  await sync.flush();
  assert.deepEqual([server.text, server.writes], ["abc", 1]);
});

test("what is typed while a text is on its way follows it", async () => {
  const { server, sync, type } = await opened();
  type("ab");
  const first = sync.flush();
  type("abc");
  await first;
  await sync.flush();
  assert.deepEqual([server.text, server.writes], ["abc", 2]);
});

test("a change elsewhere is taken where nothing was typed", async () => {
  const { server, editor, sync } = await opened();
  server.change("b");
  await sync.changedElsewhere();
  assert.deepEqual([editor.text, editor.conflicts], ["b", []]);
});

test("two changes are a conflict, and neither text is lost before somebody chooses", async () => {
  const { server, editor, sync, type } = await opened();
  server.change("theirs");
  type("mine");
  await sync.flush();
  assert.deepEqual([editor.conflicts, editor.text, server.text], [["theirs"], "mine", "theirs"]);
  type("mine too");
  await sync.flush();
  assert.equal(server.text, "theirs", "nothing is sent while the conflict is open");
  await sync.keep();
  assert.deepEqual([server.text, editor.states.at(-1)], ["mine too", "saved"]);
});

test("their text can be taken", async () => {
  const { server, editor, sync, type } = await opened();
  server.change("theirs");
  type("mine");
  await sync.flush();
  sync.take();
  await sync.flush();
  assert.deepEqual([editor.text, server.text], ["theirs", "theirs"]);
  type("on");
  await sync.flush();
  assert.equal(server.text, "on");
});

test("a position that moved without another text is no conflict", async () => {
  const { server, editor, sync, type } = await opened();
  server.position = 7;
  type("mine");
  await sync.flush();
  await sync.flush();
  assert.deepEqual([server.text, editor.conflicts], ["mine", []]);
});

test("a server that does not answer keeps the text for the next attempt", async () => {
  const { server, editor, sync, type } = await opened();
  const write = server.write;
  server.write = async () => {
    throw Object.assign(new Error("no answer"), { isConflict: false });
  };
  type("mine");
  await sync.flush();
  assert.equal(editor.states.at(-1), "failed");
  server.write = write;
  await sync.flush();
  assert.equal(server.text, "mine");
});
