// `?`: a dialog that lists the shortcuts of the page, from each `<template data-shortcuts="Heading">`.
import { isTyping } from "./typing.js";

export function startShortcuts() {
  const dialog = document.getElementById("shortcuts");
  if (!dialog) return;
  const open = () => {
    if (document.querySelector("dialog[open]")) return;
    dialog.querySelector("[data-shortcut-list]").replaceChildren(...[...document.querySelectorAll("template[data-shortcuts]")].map(group));
    dialog.showModal();
  };
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-open-shortcuts]")) open();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    event.preventDefault();
    open();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}

function group(template) {
  const section = document.createElement("section");
  const heading = document.createElement("h3");
  const list = document.createElement("dl");
  heading.className = "subheader mb-2";
  heading.textContent = template.dataset.shortcuts;
  list.className = "mb-3";
  list.append(template.content.cloneNode(true));
  section.append(heading, list);
  return section;
}
