import alertTriangle from "@tabler/icons/outline/alert-triangle.svg";
import alignLeft from "@tabler/icons/outline/layout-align-left.svg";
import alignTop from "@tabler/icons/outline/layout-align-top.svg";
import branch from "@tabler/icons/outline/arrows-split-2.svg";
import checks from "@tabler/icons/outline/list-check.svg";
import circleX from "@tabler/icons/outline/circle-x.svg";
import database from "@tabler/icons/outline/database-import.svg";
import fileImport from "@tabler/icons/outline/file-import.svg";
import help from "@tabler/icons/outline/help-circle.svg";
import lock from "@tabler/icons/outline/lock.svg";
import map from "@tabler/icons/outline/map-2.svg";
import plus from "@tabler/icons/outline/plus.svg";
import sitemap from "@tabler/icons/outline/sitemap.svg";
import spaceAcross from "@tabler/icons/outline/layout-distribute-vertical.svg";
import spaceDown from "@tabler/icons/outline/layout-distribute-horizontal.svg";
import transform from "@tabler/icons/outline/transform.svg";
import trash from "@tabler/icons/outline/trash.svg";

const ICONS = {
  source: fileImport, transform, branch, validate: checks, target: database,
  unknown: help, error: circleX, warning: alertTriangle, layout: sitemap, lock, map, plus, trash,
  left: alignLeft, top: alignTop, across: spaceAcross, down: spaceDown,
};

export function Icon({ name }) {
  const svg = ICONS[name] ?? ICONS.unknown;
  return <span className="flow-icon" aria-hidden="true" dangerouslySetInnerHTML={{ __html: svg }} />;
}
