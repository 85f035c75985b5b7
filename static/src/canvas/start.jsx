import { ReactFlowProvider } from "@xyflow/react";
import { createRoot } from "react-dom/client";
import { draftClient } from "../draft_client.js";
import { Canvas } from "./canvas.jsx";

export function startCanvas(element) {
  const root = createRoot(element);
  const data = JSON.parse(document.getElementById("flow-canvas-data").textContent);
  const isViewer = element.dataset.readonly === "true";
  root.render(
    <ReactFlowProvider>
      <Canvas element={element} client={draftClient(element.dataset)} isViewer={isViewer} data={data} />
    </ReactFlowProvider>,
  );
  return () => root.unmount();
}
