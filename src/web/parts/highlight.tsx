import { common, createLowlight } from "lowlight";
import { Fragment, type ReactNode } from "react";

const lowlight = createLowlight(common);

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

/** Highlights code. Returns undefined for an unknown language. Loaded only when there is code to show. */
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
  return <span className={classesOf(node)}>{elements(node.children)}</span>;
}

/** Highlights code and returns its lines. Returns undefined for an unknown language. */
export function highlightLines(text: string, language: string): readonly ReactNode[] | undefined {
  if (!lowlight.registered(language)) return undefined;
  const lines: ReactNode[][] = [[]];
  const add = (nodes: readonly Node[], names: string): void => {
    for (const node of nodes) {
      if (node.type === "text")
        for (const [index, part] of node.value.split("\n").entries()) {
          if (index > 0) lines.push([]);
          const line = lines.at(-1);
          if (part !== "")
            line?.push(
              <span key={line.length} className={names || undefined}>
                {part}
              </span>,
            );
        }
      else if (node.type === "element") add(node.children, `${names} ${classesOf(node)}`.trim());
    }
  };
  add(lowlight.highlight(language, text).children, "");
  return lines;
}

function classesOf({ properties }: Extract<Node, { type: "element" }>): string {
  const names = properties["className"];
  return Array.isArray(names) ? names.join(" ") : "";
}
