import type { ReactNode } from "react";
import type { Diagnostic } from "../../protocol/index.ts";

interface FindingsProps {
  readonly diagnostics: readonly Diagnostic[];
  /** Root of the project. Paths below it are shown relative to it. */
  readonly root: string;
  /** Whether to leave out the file and line, because all findings are about one file that is not written yet. */
  readonly hidesPlace?: boolean;
}

const order = { error: 0, warning: 1, notice: 2 } as const;
const words = { error: "Error", warning: "Warning", notice: "Notice" } as const;

/** Shows the findings from reading and linting agent files, worst first, each with a suggested fix. */
export function Findings({ diagnostics, root, hidesPlace = false }: FindingsProps): ReactNode {
  const sorted = [...diagnostics].sort((left, right) => order[left.severity] - order[right.severity]);
  return (
    <ul className="findings">
      {sorted.map(({ severity, file, line, message, fix, code }) => (
        <li key={`${file}:${line}:${code}:${message}`} className={severity}>
          <span className="severity">{words[severity]}</span>
          <span>
            {message}
            {fix !== undefined && <span className="fix">{fix}</span>}
            {!hidesPlace && (
              <code className="place">
                {shownPath(file, root)}:{line}
              </code>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Shortens paths within the project. */
export function shownPath(file: string, root: string): string {
  return root !== "" && file.startsWith(`${root}/`) ? file.slice(root.length + 1) : file;
}
