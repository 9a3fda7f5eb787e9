import { Fragment, type ReactNode } from "react";
import { showExactly } from "../../lib/portable.ts";

/**
 * Shows text so that different strings never look the same. Line breaks and invisible characters are shown as symbols
 * in a different color.
 */
export function ExactText({ text }: { readonly text: string }): ReactNode {
  return (
    <pre className="exact" tabIndex={0}>
      <Signs text={showExactly(text)} breaksLines />
    </pre>
  );
}

/** Like `ExactText`, but within a line. */
export function ExactLine({ text }: { readonly text: string }): ReactNode {
  return (
    <code className="exact-line">
      {showExactly(text)
        .split(OPTION)
        .map((part, index) =>
          index % 2 === 0 ? (
            <Signs key={index} text={part} />
          ) : (
            <span key={index} className="option">
              {part}
            </span>
          ),
        )}
    </code>
  );
}

/** An option of a command. Browsers break lines after hyphens, but `--` must stay in one piece. */
const OPTION = /((?<=^|\s)-[-\w]{1,24})/;

interface SignsProps {
  /** Text in which misleading characters have already been replaced with symbols, such as a call's description. */
  readonly text: string;
  /** Whether the text continues on a new line after the symbol for a line break. */
  readonly breaksLines?: boolean;
}

/**
 * Colors the symbols in the text. Many fonts lack the symbol for a blank, so a dot is used, and a real dot is escaped.
 */
export function Signs({ text, breaksLines = false }: SignsProps): ReactNode {
  return text
    .replaceAll("·", "\\u{b7}")
    .split(/(↵|⇥|␠+|\\u\{[0-9a-f]+\})/)
    .map((part, index) => (
      <Fragment key={index}>
        {index % 2 === 0 ? part : <span className="sign">{part.replaceAll("␠", "·")}</span>}
        {index % 2 === 1 && part === "↵" && breaksLines && "\n"}
      </Fragment>
    ));
}
