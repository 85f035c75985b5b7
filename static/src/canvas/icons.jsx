import alertTriangle from "@tabler/icons/outline/alert-triangle.svg";
import checks from "@tabler/icons/outline/list-check.svg";
import circleX from "@tabler/icons/outline/circle-x.svg";
import database from "@tabler/icons/outline/database-import.svg";
import fileImport from "@tabler/icons/outline/file-import.svg";
import help from "@tabler/icons/outline/help-circle.svg";
import lock from "@tabler/icons/outline/lock.svg";
import sitemap from "@tabler/icons/outline/sitemap.svg";
import transform from "@tabler/icons/outline/transform.svg";

const ICONS = {
  source: fileImport, transform, validate: checks, target: database,
  unknown: help, error: circleX, warning: alertTriangle, layout: sitemap, lock,
};

export function Icon({ name }) {
  const svg = ICONS[name] ?? ICONS.unknown;
  return <span className="flow-icon" aria-hidden="true" dangerouslySetInnerHTML={{ __html: svg }} />;
}
