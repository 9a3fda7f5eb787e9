import type { ReactNode } from "react";

/** Shows a unified diff. Lines are told apart by their signs, colors only repeat them. */
export function Diff({ text }: { readonly text: string }): ReactNode {
  const lines = text.replace(/\n$/, "").split("\n").filter(isContent);
  return (
    <pre className="diff" tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} className={kindOf(line)}>
          {`${line}\n`}
        </span>
      ))}
    </pre>
  );
}

/** The names of the file are shown with the call. */
function isContent(line: string): boolean {
  return !/^(Index: |={5,}|--- |\+\+\+ |\\ )/.test(line);
}

function kindOf(line: string): string {
  if (line.startsWith("@@")) return "hunk";
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
}
