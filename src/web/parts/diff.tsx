import { type ReactNode, useEffect, useMemo, useState } from "react";
import { showExactly } from "../../lib/portable.ts";
import { changedLines, type DiffLine, linesOf } from "./diff-lines.ts";
import { Signs } from "./exact-text.tsx";

interface DiffProps {
  /** A unified diff. */
  readonly text: string;
  /** Path of the file, which determines its language. */
  readonly path: string;
}

/** Shows a unified diff with line numbers. Signs mark the kind of each line; colors only repeat them. */
export function Diff({ text, path }: DiffProps): ReactNode {
  const lines = useMemo(() => linesOf(text), [text]);
  return <DiffLines lines={lines} path={path} indentation={/^[␠⇥]+/} />;
}

interface ChangeDiffProps {
  readonly before: string;
  readonly after: string;
  readonly path: string;
  /** Number of the first line in the file, if it is known. */
  readonly first: number | undefined;
}

/** Shows how a part of a file would change, with line numbers if they are known. */
export function ChangeDiff({ before, after, path, first }: ChangeDiffProps): ReactNode {
  const lines = useMemo(() => changedLines(before, after, first), [before, after, first]);
  return <DiffLines lines={lines} path={path} indentation={/^␠+/} />;
}

const signs: Readonly<Record<DiffLine["kind"], string>> = { added: "+", removed: "-", same: " ", hunk: "" };

interface DiffLinesProps {
  readonly lines: readonly DiffLine[];
  readonly path: string;
  /** Symbols at the start of a line that need not be shown. */
  readonly indentation: RegExp;
}

function DiffLines({ lines, path, indentation }: DiffLinesProps): ReactNode {
  const colored = useHighlightedLines(lines, path);
  const hasNumbers = lines.some(({ before, after }) => before !== undefined || after !== undefined);
  return (
    <pre className={`diff${hasNumbers ? " numbered" : ""}`} tabIndex={0}>
      {lines.map((line, index) => {
        const exact = showExactly(line.text);
        return (
          <span key={index} className={line.kind}>
            {hasNumbers && (
              <span
                className="numbers"
                data-before={line.before ?? ""}
                data-after={line.after ?? ""}
                aria-hidden="true"
              />
            )}
            {signs[line.kind]}
            {/* Colors must not hide a misleading character. */}
            {exact.replace(indentation, (found) => line.text.slice(0, found.length)) === line.text ? (
              (colored?.[index] ?? line.text)
            ) : (
              <Signs text={exact} />
            )}
            {"\n"}
          </span>
        );
      })}
    </pre>
  );
}

/** Longer diffs are not highlighted, because that could block the page. */
const LONGEST = 50_000;

/** Returns the lines with colors, as soon as the highlighter is loaded. */
function useHighlightedLines(lines: readonly DiffLine[], path: string): readonly ReactNode[] | undefined {
  const [colored, setColored] = useState<readonly ReactNode[]>();
  useEffect(() => {
    setColored(undefined);
    const text = lines.map((line) => line.text).join("\n");
    const language = /\.(\w+)$/.exec(path)?.[1];
    if (language === undefined || text.length > LONGEST) return undefined;
    let isCurrent = true;
    import("./highlight.tsx").then(
      ({ highlightLines }) => isCurrent && setColored(highlightLines(text, language)),
      // Code is readable without colors.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [lines, path]);
  return colored;
}
