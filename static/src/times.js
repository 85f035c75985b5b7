// Updates relative times while a page is open, in the format of `relative` in templatetags/flow.py.
const STEPS = [
  [60, 1, "s"],
  [3600, 60, "min"],
  [86400 * 2, 3600, "h"],
  [86400 * 30, 86400, "d"],
];

export function relative(moment, now) {
  const seconds = (now - moment) / 1000;
  for (const [limit, unit, name] of STEPS) {
    const number = Math.round(Math.abs(seconds) / unit);
    if (number * unit < limit) return seconds >= 0 ? `${number} ${name} ago` : `in ${number} ${name}`;
  }
  return new Date(moment).toISOString().slice(0, 10);
}

export function startTimes() {
  setInterval(() => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const words = relative(Date.parse(time.dateTime), Date.now());
      if (time.textContent !== words) time.textContent = words;
    }
  }, 5000);
}
