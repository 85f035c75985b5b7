// The preview below the canvas: users open and resize it; it is requested again when the selection or the draft changes.
import { startPreview } from "../node_preview/panel.js";
import { startColumnMenu } from "../node_preview/column_menu.js";

const section = document.getElementById("node-preview");
startPreview(section);
startColumnMenu(section, document.getElementById("node-preview-menu"));
