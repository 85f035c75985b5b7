import { Handle } from "@xyflow/react";
import { memo } from "react";
import { Icon } from "./icons.jsx";
import { countsOf, rows, spokenCounts } from "./numbers.js";

export function plural(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

/** Return the accessible description of a node. */
export function spoken({ kind, name, summary, errors, warnings, numbers }) {
  const faults = [errors && plural(errors, "error"), warnings && plural(warnings, "warning")].filter(Boolean);
  return [`${kind || "node"} ${name}`, summary, ...faults, spokenCounts(countsOf(kind, numbers))].filter(Boolean).join(", ");
}

export const FlowNode = memo(function FlowNode({ data, isConnectable, sourcePosition, targetPosition }) {
  const { kind, name, summary, errors, warnings, numbers } = data;
  return (
    <div className="flow-node" data-faults={errors ? "error" : warnings ? "warning" : undefined}>
      {kind !== "source" && <Handle type="target" position={targetPosition} isConnectable={isConnectable} />}
      <div className="flow-node-head">
        <Icon name={kind} />
        <span className="flow-node-kind">{kind || "unknown kind"}</span>
        <Badge number={errors} word="error" />
        <Badge number={warnings} word="warning" />
      </div>
      <div className="flow-node-name" title={name}>{name}</div>
      <div className="flow-node-summary" title={summary}>{summary || "—"}</div>
      <Counts counts={countsOf(kind, numbers)} />
      {kind !== "target" && <Handle type="source" position={sourcePosition} isConnectable={isConnectable} />}
    </div>
  );
});

function Counts({ counts }) {
  return (
    <div className="flow-node-counts" title={counts.length ? `Last run: ${spokenCounts(counts)}` : undefined}>
      {counts.map(({ name, number }) => (
        <span key={name} className={`flow-count-${name}`}>{rows(number)} {name}</span>
      ))}
    </div>
  );
}

function Badge({ number, word }) {
  if (!number) return null;
  return (
    <span className={`flow-badge flow-badge-${word}`} title={plural(number, word)}>
      <Icon name={word} />
      {number}
    </span>
  );
}
