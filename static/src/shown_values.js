// `<form data-follows-server>`: after a swap, set its fields to the values that the server sent, because browsers do not change
// edited fields that are morphed. The focused field is not changed.
export function startShownValues() {
  document.addEventListener("htmx:after:swap", () => {
    for (const form of document.querySelectorAll("form[data-follows-server]")) [...form.elements].forEach(showSent);
  });
}

function showSent(field) {
  if (field.matches("select")) for (const option of field.options) option.selected = option.defaultSelected;
  else if (field.matches("[type=checkbox], [type=radio]")) field.checked = field.defaultChecked;
  else if (field.matches("input") && field !== document.activeElement) field.value = field.defaultValue;
}
