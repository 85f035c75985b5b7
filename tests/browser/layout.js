// What stands where it should not, as sentences: a page wider than its window, controls outside the window or their
// container, controls over each other. What can be scrolled into view is in its place.
() => {
  const faults = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) faults.push(`the page is ${wide} px wider than the window`);
  const name = (element) => {
    const words = element.getAttribute("aria-label") || element.textContent.trim() || element.name || "";
    return `${element.localName}${element.id ? `#${element.id}` : ""} "${words.replace(/\s+/g, " ").slice(0, 40)}"`;
  };
  const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);
  const isScrolled = (element) =>
    ancestors(element.parentElement).some(
      (one) => one !== document.documentElement && one !== document.body && getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1,
    );
  const layer = (element) => ancestors(element).find((one) => ["fixed", "sticky"].includes(getComputedStyle(one).position));
  const isSeen = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest("[aria-hidden=true], .visually-hidden, .skip-link");

  const boxes = [];
  for (const element of document.querySelectorAll("a.btn, .nav-link, button, input:not([type=hidden]), select, textarea, summary")) {
    const box = element.getBoundingClientRect();
    if (!isSeen(element) || box.width < 2 || isScrolled(element)) continue;
    if (box.right > innerWidth + 1 || box.left < -1) faults.push(`${name(element)} is outside the window`);
    const outer = element.closest(".card, td, .flow-item, .dropdown-menu")?.getBoundingClientRect();
    if (outer && (box.right > outer.right + 1 || box.left < outer.left - 1)) faults.push(`${name(element)} is outside its container`);
    boxes.push([element, box]);
  }
  boxes.forEach(([one, a], i) => {
    for (const [other, b] of boxes.slice(i + 1)) {
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 2 && height > 2 && !one.contains(other) && layer(one) === layer(other)) faults.push(`${name(one)} overlaps ${name(other)}`);
    }
  });
  return faults;
}
