// The canvas of the pipeline editor, in `<div id="flow-canvas" data-draft-url data-workspace data-readonly>`.
import { startCanvas } from "../canvas/start.jsx";
import { mountAll } from "../draft_client.js";

mountAll("#flow-canvas", startCanvas);
