// Synchronizes an editor's text with the draft on the server. One request at a time; nothing is merged.

const WAIT_MS = 400;

/**
 * `editor` contains the text. It has `getText()`, and these callbacks:
 *   show(draft)            the text equals the server's; show its diagnostics
 *   replace(draft)         show the server's text, which was changed elsewhere
 *   conflict(draft)        the text was changed here and elsewhere; `keep()` or `take()` ends the conflict
 *   state(name, refused?)  "saved", "changed", "sending", "conflict", "failed"
 */
export class DraftSync {
  constructor(client, editor, announce) {
    Object.assign(this, { client, editor, announce });
    this.known = null; // the draft of the last response
    this.theirs = null; // the other draft, while a conflict is open
    this.isDirty = false;
    this.timer = 0;
    this.sending = null;
  }

  async load() {
    this.known = await this.client.read();
    this.editor.replace(this.known);
    this.editor.show(this.known);
    this.editor.state("saved");
  }

  /** Return whether some text was not saved yet. */
  get isPending() {
    return this.isDirty || this.sending !== null;
  }

  /** The user has changed the text. */
  edited() {
    this.isDirty = true;
    if (this.theirs) return;
    this.editor.state("changed");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), WAIT_MS);
  }

  /** Send unsent text; resolve when the server has accepted or refused it. */
  async flush() {
    clearTimeout(this.timer);
    while (this.sending) await this.sending;
    if (!this.isDirty || this.theirs || !this.known) return;
    this.sending = this.send().finally(() => (this.sending = null));
    await this.sending;
  }

  async send() {
    const text = this.editor.getText();
    this.isDirty = false;
    this.editor.state("sending");
    try {
      this.accept(await this.client.write(text, this.known));
      this.announce(this.known);
    } catch (refused) {
      this.isDirty = true;
      if (refused.isConflict) await this.meet(text);
      else this.editor.state("failed", refused);
    }
  }

  accept(draft) {
    this.known = draft;
    if (this.isDirty) return; // the user has typed more: the next response has its diagnostics
    this.editor.show(draft);
    this.editor.state("saved");
  }

  /** The draft was changed elsewhere. It is a conflict only if its text differs. */
  async meet(text) {
    const before = this.known.text;
    let theirs;
    try {
      theirs = await this.client.read();
    } catch (refused) {
      this.editor.state("failed", refused);
      return;
    }
    this.known = theirs;
    if (theirs.text === text) {
      this.isDirty = this.editor.getText() !== text;
      this.accept(theirs);
    } else if (theirs.text === before) {
      await this.send();
    } else {
      this.theirs = theirs;
      this.editor.state("conflict");
      this.editor.conflict(theirs);
    }
  }

  /** Something else changed the draft. */
  async changedElsewhere() {
    if (!this.known || this.theirs) return;
    if (this.isDirty || this.sending) {
      await this.flush();
      return;
    }
    try {
      const draft = await this.client.read();
      if (this.isDirty || this.sending) return; // sending the text will find the other change
      this.known = draft;
      this.editor.replace(draft);
      this.accept(draft);
    } catch (refused) {
      this.editor.state("failed", refused);
    }
  }

  /** End a conflict: replace the other text by the editor's. */
  async keep() {
    this.theirs = null;
    this.isDirty = true;
    await this.flush();
  }

  /** End a conflict with the other text. */
  take() {
    const draft = this.theirs;
    this.theirs = null;
    this.isDirty = false;
    this.editor.replace(draft);
    this.accept(draft);
    this.announce(draft);
  }
}
