import { common, createLowlight } from "lowlight";
import { Fragment, type ReactNode } from "react";

const lowlight = createLowlight(common);

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

/** Colors code. Returns undefined for a language that is not known. Loaded only when there is code to show. */
export function highlight(text: string, language: string): ReactNode {
  if (!lowlight.registered(language)) return undefined;
  return elements(lowlight.highlight(language, text).children);
}

function elements(nodes: readonly Node[]): ReactNode {
  return nodes.map((node, index) => <Fragment key={index}>{element(node)}</Fragment>);
}

function element(node: Node): ReactNode {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const names = node.properties["className"];
  return <span className={Array.isArray(names) ? names.join(" ") : undefined}>{elements(node.children)}</span>;
}
