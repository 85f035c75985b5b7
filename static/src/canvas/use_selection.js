import { useCallback, useEffect, useRef } from "react";

/** Tells the page which node is selected (`flow:select`), and selects one that the page names (`flow:select-node`). */
export function useSelection(element, setNodes, flow) {
  const told = useRef(null);

  const onChange = useCallback(
    ({ nodes }) => {
      const id = nodes.length === 1 ? nodes[0].data.id : null;
      if (id === told.current) return;
      told.current = id;
      element.dispatchEvent(new CustomEvent("flow:select", { bubbles: true, detail: { id } }));
    },
    [element],
  );

  useEffect(() => {
    const select = ({ detail }) => {
      setNodes((nodes) => nodes.map((node) => ({ ...node, selected: node.data.id === detail.id })));
      const node = flow.getNodes().find(({ data }) => data.id === detail.id);
      if (node && !isInSight(node, element)) flow.setCenter(node.position.x + 110, node.position.y + 42, { zoom: flow.getZoom() });
    };
    document.addEventListener("flow:select-node", select);
    return () => document.removeEventListener("flow:select-node", select);
  }, [element, setNodes, flow]);

  const areInSight = useCallback((keys) => keys.every((id) => isInSight({ id }, element)), [element]);
  return { onChange, areInSight };
}

function isInSight({ id }, element) {
  const drawn = element.querySelector(`.react-flow__node[data-id="${CSS.escape(id)}"]`)?.getBoundingClientRect();
  const area = element.querySelector(".react-flow").getBoundingClientRect();
  return drawn && drawn.left >= area.left && drawn.right <= area.right && drawn.top >= area.top && drawn.bottom <= area.bottom;
}
