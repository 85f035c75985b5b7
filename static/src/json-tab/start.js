import "./json-tab.css";
import { setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, Text, Transaction } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { announceChange, draftClient, onChangeElsewhere, toast } from "../draft_client.js";
import { assistance } from "./assist.js";
import { showConflict } from "./conflict.js";
import { marksOf } from "./diagnostics.js";
import { looks, readOnly, tools } from "./editor.js";
import { holdBack } from "./hold.js";
import { changeBetween, separatorOf } from "./places.js";
import { DraftSync } from "./sync.js";
import { placeOfNode } from "./tree.js";

const ORIGIN = "json";
const STATES = {
  saved: "Saved in the draft.",
  changed: "Changed…",
  sending: "Saving…",
  conflict: "The draft changed elsewhere. Choose a text.",
};

/** Start the tab in its element; return the function that ends it. */
export function startJsonTab(root) {
  const tab = new JsonTab(root);
  tab.start();
  return () => tab.end();
}

class JsonTab {
  constructor(root) {
    this.root = root;
    this.nonce = root.dataset.cspNonce ?? "";
    this.isViewer = root.dataset.readonly === "true";
    this.client = draftClient(root.dataset);
    this.separator = new Compartment();
    this.assistance = assistance(fetchSchema(root.dataset.schemaUrl));
    this.sync = new DraftSync(this.client, this, (draft) => announceChange(root, ORIGIN, draft));
    [this.status, this.place, this.other] = parts(root);
    // Text typed before the draft has loaded would be lost.
    this.view = new EditorView({ parent: this.place, state: this.newState("", true) });
  }

  newState(text, isReadOnly = this.isViewer) {
    const separator = separatorOf(text);
    return EditorState.create({
      // Split here, because CodeMirror would treat all kinds of line ends alike.
      doc: Text.of(text.split(separator)),
      extensions: [
        looks(this.nonce, "The pipeline as JSON"),
        tools(),
        readOnly(isReadOnly),
        this.separator.of(EditorState.lineSeparator.of(separator)),
        this.assistance,
        EditorView.updateListener.of((update) => this.noticed(update)),
        EditorView.domEventHandlers({ blur: () => void this.sync.flush() }),
      ],
    });
  }

  async start() {
    const leaving = (event) => this.sync.isPending && event.preventDefault();
    window.addEventListener("beforeunload", leaving);
    document.addEventListener("flow:leaving", leaving);
    this.ends = [
      onChangeElsewhere(ORIGIN, () => this.sync.changedElsewhere()),
      onSelected((id) => this.reveal(id)),
      holdBack(this.root, () => this.sync.isPending, () => this.settle()),
      () => window.removeEventListener("beforeunload", leaving),
      () => document.removeEventListener("flow:leaving", leaving),
    ];
    try {
      await this.sync.load();
    } catch (refused) {
      this.state("failed", refused);
    }
    this.reveal(this.root.dataset.selected);
  }

  end() {
    this.ends.forEach((end) => end());
    this.sync.flush();
    this.view.destroy();
  }

  /** Scroll to the node of that id, if the text has one, and move the cursor there. */
  reveal(id) {
    const place = id ? placeOfNode(this.view.state, id) : null;
    if (place !== null) this.view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "start", yMargin: 40 }) });
  }

  async settle() {
    await this.sync.flush();
    if (this.sync.isPending) toast("Your text is not in the draft yet. See the message on the JSON tab.", "warning");
    return !this.sync.isPending;
  }

  noticed(update) {
    const isTyped = update.docChanged && !update.transactions.some((t) => t.annotation(Transaction.userEvent) === "flow.server");
    if (isTyped) this.sync.edited();
  }

  // --- called by DraftSync ---

  getText() {
    return this.view.state.sliceDoc();
  }

  replace({ text }) {
    const { state } = this.view;
    const separator = separatorOf(text);
    if (separator !== state.lineBreak || state.doc.length === 0) {
      this.view.setState(this.newState(text));
      return;
    }
    const lines = (part) => part.split(separator).join("\n");
    const change = changeBetween(state.doc.toString(), lines(text));
    if (!change) return;
    this.view.dispatch({
      changes: { ...change, insert: Text.of(change.insert.split("\n")) },
      annotations: [Transaction.addToHistory.of(false), Transaction.userEvent.of("flow.server")],
    });
  }

  show({ diagnostics }) {
    this.faults = diagnostics;
    this.view.dispatch(setDiagnostics(this.view.state, marksOf(this.view.state, diagnostics, (patch) => this.fix(patch))));
  }

  conflict({ text }) {
    this.place.hidden = true;
    showConflict(this.other, {
      nonce: this.nonce,
      theirs: text,
      mine: this.getText(),
      separator: EditorState.lineSeparator.of(this.view.state.lineBreak),
      onKeep: (text) => {
        this.place.hidden = false;
        this.replace({ text });
        this.sync.keep();
        this.view.focus();
      },
      onTake: () => {
        this.place.hidden = false;
        this.sync.take();
        this.view.focus();
      },
    });
  }

  state(name, refused) {
    this.status.dataset.state = name;
    const counts = name === "saved" ? ` ${counted(this.faults)}` : "";
    this.status.textContent = refused ? [refused.message, refused.hint].filter(Boolean).join(" ") : `${STATES[name]}${counts}`;
    if (this.isViewer && name === "saved") this.status.textContent = `Read-only: only editors can change this.${counts}`;
  }

  async fix(patch) {
    try {
      await this.sync.flush();
      announceChange(this.root, "json-fix", await this.client.patch(patch, "Fix", this.sync.known));
    } catch (refused) {
      toast([refused.message, refused.hint].filter(Boolean).join(" "), "danger");
    }
  }
}

/** Return the schema, or null: the editor also works without completion. */
async function fetchSchema(url) {
  const answer = await fetch(url).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

/** Call `reveal` with the id of a node that the page selects; return the function that ends this. */
function onSelected(reveal) {
  const heard = ({ detail }) => reveal(detail.id);
  document.addEventListener("flow:select-node", heard);
  return () => document.removeEventListener("flow:select-node", heard);
}

function parts(root) {
  const [status, place, other] = ["div", "div", "div"].map((tag) => root.appendChild(document.createElement(tag)));
  status.className = "flow-json-status";
  status.setAttribute("role", "status");
  place.className = "flow-json-editor";
  return [status, place, other];
}

function counted(diagnostics = []) {
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = diagnostics.length - errors;
  if (!diagnostics.length) return "No problems.";
  const words = [[errors, "error"], [warnings, "warning"]].filter(([n]) => n).map(([n, word]) => `${n} ${word}${n === 1 ? "" : "s"}`);
  return `${words.join(", ")}.`;
}
