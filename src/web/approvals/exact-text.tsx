import type { ReactNode } from "react";
import { showExactly } from "../../lib/portable.ts";

/**
 * Shows text so that different texts never look the same: line breaks and invisible characters are shown as symbols,
 * which are told from the text around them by their color.
 */
export function ExactText({ text }: { readonly text: string }): ReactNode {
  const parts = showExactly(text).split(/(↵|⇥|␠+|\\u\{[0-9a-f]+\})/);
  return (
    <pre className="exact" tabIndex={0}>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <span key={index} className="sign">
            {part}
            {part === "↵" && "\n"}
          </span>
        ),
      )}
    </pre>
  );
}
