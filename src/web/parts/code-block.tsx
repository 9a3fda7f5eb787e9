import { type ReactNode, useEffect, useState } from "react";

/** Longer text is not highlighted, because that could block the page. */
const LONGEST = 50_000;

/** Shows code, highlighted as soon as the highlighter is loaded. */
export function CodeBlock({
  text,
  language,
}: {
  readonly text: string;
  readonly language?: string | undefined;
}): ReactNode {
  const [highlighted, setHighlighted] = useState<ReactNode>();
  useEffect(() => {
    setHighlighted(undefined);
    if (language === undefined || language === "" || text.length > LONGEST) return undefined;
    let isCurrent = true;
    import("./highlight.tsx").then(
      ({ highlight }) => isCurrent && setHighlighted(highlight(text, language)),
      // Code is readable without colors.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [text, language]);
  return (
    <pre className="code" tabIndex={0}>
      <code>{highlighted ?? text}</code>
    </pre>
  );
}
