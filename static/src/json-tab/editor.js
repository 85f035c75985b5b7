// The extensions of the text editor: content, appearance and accessible labels.
import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--flow-json-key)" },
  { tag: tags.string, color: "var(--flow-json-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--flow-json-number)" },
  { tag: tags.invalid, color: "var(--tblr-danger)" },
]);

/** Extensions of every editor. The nonce allows the stylesheet that CodeMirror creates. */
export function looks(nonce, label) {
  return [
    EditorView.cspNonce.of(nonce),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.lineWrapping,
    lineNumbers(),
    highlightSpecialChars(),
    drawSelection(),
    syntaxHighlighting(COLOURS),
    json(),
  ];
}

/** Further extensions of the draft's editor. The Tab key moves the focus to the next control, as the browser does. */
export function tools() {
  return [
    foldGutter(),
    lintGutter(),
    history(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    search(),
    highlightSelectionMatches(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap, ...defaultKeymap]),
  ];
}

export function readOnly(isReadOnly) {
  return [EditorState.readOnly.of(isReadOnly), EditorView.editable.of(!isReadOnly)];
}
