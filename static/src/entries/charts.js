// The charts of the Health page: one uPlot for each `.flow-chart`, drawn from its data attributes.
import { drawCharts } from "../charts.js";

drawCharts();
document.addEventListener("flow:theme", drawCharts);
addEventListener("resize", drawCharts);
