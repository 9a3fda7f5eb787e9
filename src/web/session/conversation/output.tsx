import { type ReactNode, useState } from "react";
import { withoutTags } from "../../../client/index.ts";
import { formatCount } from "../../../lib/portable.ts";
import type { ResultBlock } from "../../../protocol/index.ts";
import { useServer } from "../../state/server-context.ts";
import { asClientError } from "../../state/server-store.ts";
import { useSessionId } from "../session-context.ts";
import { partEnd } from "./part-end.ts";

/** Shows the output of a call as the model saw it. If that was only part of the output, the rest can be loaded. */
export function Output({ content }: { readonly content: readonly ResultBlock[] }): ReactNode {
  const text = withoutTags(content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n"));
  const address = /retinue:\/\/result\/([\w-]+)/.exec(text)?.[1];
  if (text === "") return <p className="dim">No output.</p>;
  return (
    <>
      <LongText text={text} step={20_000} />
      {address !== undefined && <WholeOutput name={address} />}
    </>
  );
}

/** Loads the whole output of a call. */
function WholeOutput({ name }: { readonly name: string }): ReactNode {
  const session = useServer().client.sessions.open(useSessionId());
  const [state, setState] = useState<{ readonly text?: string; readonly note?: string }>({});
  const load = async (): Promise<void> => {
    setState({ note: "Loading…" });
    try {
      setState({ text: await session.result(name) });
    } catch (error) {
      setState({ note: asClientError(error).detail });
    }
  };
  const { text, note } = state;
  // The element around both states keeps the focus at the output when the button disappears.
  return (
    <div className="output-part">
      {text === undefined ? (
        <p>
          <button type="button" onClick={() => void load()}>
            Load the whole output
          </button>{" "}
          <span role="status">{note}</span>
        </p>
      ) : (
        <LongText text={text} step={50_000}>
          <button type="button" onClick={() => save(text, `${name}.txt`)}>
            Save as {name}.txt
          </button>
        </LongText>
      )}
    </div>
  );
}

interface LongTextProps {
  readonly text: string;
  /** Number of characters that are shown at first, and added each time the user asks for more. */
  readonly step: number;
  /** Other actions. */
  readonly children?: ReactNode;
}

/**
 * Shows the beginning of long text, and more when the user asks for it. The browser could not lay out 50 MB at once.
 */
function LongText({ text, step, children }: LongTextProps): ReactNode {
  /** Where the parts end. Each part is a separate block, so that the browser lays it out only once. */
  const [ends, setEnds] = useState(() => [partEnd(text, 0, step)]);
  const shown = ends.at(-1) ?? 0;
  const rest = text.length - shown;
  return (
    <div className="output-part">
      <pre className="output" tabIndex={0} data-landing>
        {ends.map((end, index) => (
          <div key={end}>{text.slice(ends[index - 1] ?? 0, end)}</div>
        ))}
      </pre>
      {(rest > 0 || children !== undefined) && (
        <div className="actions">
          {rest > 0 && (
            <button type="button" onClick={() => setEnds([...ends, partEnd(text, shown, step)])}>
              {rest <= step ? "Show the rest" : `Show ${formatCount(step)} of ${formatCount(rest)} more characters`}
            </button>
          )}
          {children}
        </div>
      )}
    </div>
  );
}

function save(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
