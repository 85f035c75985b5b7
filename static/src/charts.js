// Small charts of a pipeline's last runs. Text beside a chart shows the value of the run under the pointer.
import uPlot from "uplot";

const HEIGHT = 96;
/** Padding at the top, right, bottom and left, in pixels, so that dots at the edges are not cut. */
const ROOM = [6, 6, 6, 0];

export function drawCharts() {
  document.querySelectorAll(".flow-chart").forEach(draw);
}

function draw(place) {
  const values = JSON.parse(place.dataset.values);
  const runs = JSON.parse(place.closest(".flow-trend").dataset.runs);
  const caption = place.parentElement.querySelector("[data-caption]");
  const describe = (index) => (caption.textContent = wordsOf(runs[index], values[index], place.dataset.unit));
  const bounds = ["least", "most"].map((name) => numberOf(place.dataset[name]));
  place.replaceChildren();
  new uPlot(optionsOf(place, bounds, describe), dataOf(values, bounds), place);
  describe(values.length - 1);
}

/** The bounds are separate series, so that the scale includes them. */
function dataOf(values, bounds) {
  const lines = bounds.filter((bound) => bound !== null).map((bound) => values.map(() => bound));
  return [values.map((_, index) => index), values, ...lines];
}

function optionsOf(place, bounds, describe) {
  // A canvas needs a computed colour: let the browser resolve variables and mixtures.
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
    hooks: { setCursor: [({ cursor, data }) => describe(cursor.idx ?? data[0].length - 1)] },
  };
}

/** Steps of the scale: 1, 2, 5, 10 and so on, because there are no fractions of a row. */
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

/** Format a duration as the pages do: `0.4 s`, `1 min 54 s`, `2 h 5 min`. */
function durationText(seconds) {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const [most, least, big, small] = seconds < 3599.5 ? [60, 1, "min", "s"] : [3600, 60, "h", "min"];
  const units = Math.round(seconds / least);
  return `${Math.floor(units / (most / least))} ${big} ${units % (most / least)} ${small}`;
}

function numberOf(text) {
  return text ? Number(text) : null;
}
