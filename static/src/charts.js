// Small charts of a pipeline's last runs. What a chart says stands beside it as text, of the run that is pointed at.
import uPlot from "uplot";

const HEIGHT = 96;
/** Above, right, below and left, in pixels: dots at the edges are drawn whole. */
const ROOM = [6, 6, 6, 0];

export function drawCharts() {
  document.querySelectorAll(".flow-chart").forEach(draw);
}

function draw(place) {
  const values = JSON.parse(place.dataset.values);
  const runs = JSON.parse(place.closest(".flow-trend").dataset.runs);
  const told = place.parentElement.querySelector("[data-told]");
  const tell = (index) => (told.textContent = wordsOf(runs[index], values[index], place.dataset.unit));
  const bounds = ["least", "most"].map((name) => numberOf(place.dataset[name]));
  place.replaceChildren();
  new uPlot(optionsOf(place, bounds, tell), dataOf(values, bounds), place);
  tell(values.length - 1);
}

/** The bounds are lines of their own, so that the scale holds them too. */
function dataOf(values, bounds) {
  const lines = bounds.filter((bound) => bound !== null).map((bound) => values.map(() => bound));
  return [values.map((_, index) => index), values, ...lines];
}

function optionsOf(place, bounds, tell) {
  // As a canvas takes it: the browser works out what a variable and its mixtures come to.
  const colour = (name, percent = 100) => {
    place.style.color = `color-mix(in srgb, var(--tblr-${name}) ${percent}%, transparent)`;
    return getComputedStyle(place).color;
  };
  const line = { stroke: colour("link-color"), width: 1.5, spanGaps: false, points: { size: 6, fill: colour("link-color") } };
  const bound = { stroke: colour("secondary"), width: 1, dash: [4, 4], points: { show: false } };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    padding: ROOM,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    series: [{}, line, ...bounds.filter((value) => value !== null).map(() => bound)],
    bands: bounds.includes(null) ? [] : [{ series: [3, 2], fill: colour("secondary", 12) }],
    axes: [{ show: false }, yAxis(colour, place.dataset.unit)],
    hooks: { setCursor: [({ cursor, data }) => tell(cursor.idx ?? data[0].length - 1)] },
  };
}

/** Steps of the scale: 1, 2, 5, 10 and so on. There are no halves of a row. */
const WHOLE_STEPS = Array.from({ length: 36 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));

function yAxis(colour, unit) {
  return {
    ...(unit === "rows" ? { incrs: WHOLE_STEPS } : {}),
    stroke: colour("secondary"),
    font: "11px system-ui, sans-serif",
    size: 44,
    space: 30,
    grid: { stroke: colour("border-color"), width: 1 },
    ticks: { show: false },
    values: (_, ticks) => ticks.map((tick) => new Intl.NumberFormat("en", { notation: "compact" }).format(tick)),
  };
}

function wordsOf([number], value, unit) {
  if (value === null) return `run ${number}: no number`;
  return `run ${number}: ${unit === "s" ? durationText(value) : `${value.toLocaleString("en")} ${unit}`}`;
}

/** As pages write it: `0.4 s`, `1 min 54 s`, `2 h 5 min`. */
function durationText(seconds) {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const [most, least, big, small] = seconds < 3599.5 ? [60, 1, "min", "s"] : [3600, 60, "h", "min"];
  const units = Math.round(seconds / least);
  return `${Math.floor(units / (most / least))} ${big} ${units % (most / least)} ${small}`;
}

function numberOf(text) {
  return text ? Number(text) : null;
}
