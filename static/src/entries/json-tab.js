// The JSON tab of the pipeline editor, in `<div id="flow-json" data-csp-nonce data-draft-url data-schema-url data-workspace data-readonly>`.
import { mountAll } from "../draft_client.js";
import { startJsonTab } from "../json-tab/start.js";

mountAll("#flow-json", startJsonTab);
