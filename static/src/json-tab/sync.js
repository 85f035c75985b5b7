// Keeps an editor's text and the draft on the server in step. One request at a time; nothing is merged.

const WAIT_MS = 400;

/**
 * `editor` is what the text is in: `getText()`, and what it is told:
 *   show(draft)            the text is the server's, with these diagnostics
 *   replace(draft)         take the server's text, which was changed elsewhere
 *   conflict(draft)        it was changed elsewhere and here; ends with `keep(text)` or `take()`
 *   state(name, refused?)  "kept", "changed", "sending", "conflict", "failed"
 */
export class DraftSync {
  constructor(client, editor, announce) {
    Object.assign(this, { client, editor, announce });
    this.known = null; // the draft as last answered
    this.theirs = null; // the other draft, while a conflict is open
    this.isDirty = false;
    this.timer = 0;
    this.sending = null;
  }

  async load() {
    this.known = await this.client.read();
    this.editor.replace(this.known);
    this.editor.show(this.known);
    this.editor.state("kept");
  }

  /** Whether there is text that the server does not have. */
  get isPending() {
    return this.isDirty || this.sending !== null;
  }

  /** The text was changed by hand. */
  edited() {
    this.isDirty = true;
    if (this.theirs) return;
    this.editor.state("changed");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), WAIT_MS);
  }

  /** Send what has not been sent; done when the server has it, or has refused it. */
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
    if (this.isDirty) return; // typed on meanwhile: the next answer shows what is wrong
    this.editor.show(draft);
    this.editor.state("kept");
  }

  /** The draft moved on elsewhere. Only if its text is another one is there something to choose. */
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
      if (this.isDirty || this.sending) return; // sending that will meet the other change
      this.known = draft;
      this.editor.replace(draft);
      this.accept(draft);
    } catch (refused) {
      this.editor.state("failed", refused);
    }
  }

  /** End a conflict with a text that replaces theirs. */
  async keep() {
    this.theirs = null;
    this.isDirty = true;
    await this.flush();
  }

  /** End a conflict with their text. */
  take() {
    const draft = this.theirs;
    this.theirs = null;
    this.isDirty = false;
    this.editor.replace(draft);
    this.accept(draft);
    this.announce(draft);
  }
}
