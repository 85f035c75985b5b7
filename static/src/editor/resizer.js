// The width of the form beside the canvas, by mouse and by keyboard, remembered in this browser.
const STORED = "flow:panel-width";
/** Pixels. */
const LEAST = 440;
const LEAST_CENTRE = 260;
const STEP = 16;

const inBounds = (width, most) => Math.round(Math.min(Math.max(width, LEAST), Math.max(LEAST, most)));

export function startResizer(handle) {
  const panes = handle.parentElement;
  const panel = () => document.getElementById("flow-panel");
  const most = () => panes.clientWidth - LEAST_CENTRE;

  const show = (wanted) => {
    const width = inBounds(wanted, most());
    panes.style.setProperty("--flow-panel-width", `${width}px`);
    handle.setAttribute("aria-valuemin", LEAST);
    handle.setAttribute("aria-valuemax", inBounds(most(), most()));
    handle.setAttribute("aria-valuenow", width);
    handle.setAttribute("aria-valuetext", `${width} pixels`);
    return width;
  };
  const set = (wanted) => localStorage.setItem(STORED, show(wanted));
  const restore = () => show(Number(localStorage.getItem(STORED)) || LEAST);

  handle.addEventListener("pointerdown", (event) => {
    const [start, width] = [event.clientX, panel().offsetWidth];
    const onMove = ({ clientX }) => set(width + start - clientX);
    handle.setPointerCapture(event.pointerId);
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", onMove), { once: true });
    event.preventDefault();
    handle.focus();
  });
  handle.addEventListener("keydown", (event) => {
    const now = panel().offsetWidth;
    const wanted = { ArrowLeft: now + STEP, ArrowRight: now - STEP, Home: LEAST, End: most() }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    set(wanted);
  });
  handle.addEventListener("dblclick", () => set(LEAST));
  addEventListener("resize", restore);
  restore();
}
