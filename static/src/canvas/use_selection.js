import { useCallback, useEffect, useMemo, useRef } from "react";
import { NODE } from "./layout.js";

/** Notifies the page of the selected node (`flow:select`), and selects or focuses a node that the page names. */
export function useSelection(element, setNodes, flow, awaited) {
  const announced = useRef(null);

  const onChange = useCallback(
    ({ nodes }) => {
      const id = nodes.length === 1 ? nodes[0].data.id : null;
      if (id === announced.current) return;
      announced.current = id;
      element.dispatchEvent(new CustomEvent("flow:select", { bubbles: true, detail: { id } }));
    },
    [element],
  );

  const select = useCallback(
    (keys) => {
      awaited.forget();
      setNodes((nodes) => nodes.map((node) => ({ ...node, selected: keys.includes(node.id) })));
    },
    [setNodes, awaited],
  );
  const toggle = useCallback(
    (key, isAdded = null) => {
      awaited.forget();
      setNodes((nodes) => nodes.map((node) => (node.id === key ? { ...node, selected: isAdded ?? !node.selected } : node)));
    },
    [setNodes, awaited],
  );

  const bringIntoSight = useCallback(
    (node) => {
      if (!node || isInSight(node, element)) return;
      flow.setCenter(node.position.x + NODE.width / 2, node.position.y + NODE.height / 2, { zoom: flow.getZoom() });
    },
    [element, flow],
  );

  /** Without a key, focus the selected node, or the first one. */
  const focusNode = useCallback(
    (key) => {
      const nodes = flow.getNodes();
      const node = nodes.find(({ id, selected }) => (key ? id === key : selected)) ?? nodes[0];
      if (!node) return element.querySelector("button")?.focus();
      bringIntoSight(node);
      elementOf(node, element)?.focus({ preventScroll: true });
    },
    [element, flow, bringIntoSight],
  );

  const showSelected = useCallback(() => bringIntoSight(flow.getNodes().find(({ selected }) => selected)), [flow, bringIntoSight]);

  const openForm = useCallback(
    (key) => {
      select([key]);
      const { id } = flow.getNode(key).data;
      element.dispatchEvent(new CustomEvent("flow:open-form", { bubbles: true, detail: { id } }));
    },
    [element, flow, select],
  );

  useEffect(() => {
    const onSelect = ({ detail }) => {
      if (detail.isChoice) awaited.forget();
      // A renamed or restored node is not drawn yet.
      if (detail.id && !flow.getNodes().some(({ data }) => data.id === detail.id)) return awaited.follow(detail.id);
      setNodes((nodes) => nodes.map((node) => ({ ...node, selected: node.data.id === detail.id })));
      // After the page has shown the form of the node.
      requestAnimationFrame(() => requestAnimationFrame(() => bringIntoSight(flow.getNodes().find(({ data }) => data.id === detail.id))));
    };
    const onFocus = () => focusNode();
    document.addEventListener("flow:select-node", onSelect);
    document.addEventListener("flow:focus-canvas", onFocus);
    return () => {
      document.removeEventListener("flow:select-node", onSelect);
      document.removeEventListener("flow:focus-canvas", onFocus);
    };
  }, [setNodes, flow, awaited, bringIntoSight, focusNode]);

  const areInSight = useCallback((keys) => keys.every((id) => isInSight({ id }, element)), [element]);
  return useMemo(
    () => ({ onChange, select, toggle, focusNode, showSelected, openForm, areInSight }),
    [onChange, select, toggle, focusNode, showSelected, openForm, areInSight],
  );
}

function elementOf({ id }, element) {
  return element.querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`);
}

function isInSight(node, element) {
  const drawn = elementOf(node, element)?.getBoundingClientRect();
  const area = element.querySelector(".react-flow").getBoundingClientRect();
  return drawn && drawn.left >= area.left && drawn.right <= area.right && drawn.top >= area.top && drawn.bottom <= area.bottom;
}
