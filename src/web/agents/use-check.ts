import { useEffect, useState } from "react";
import type { AgentDraft, AgentFileCheck } from "../../protocol/index.ts";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";

const PAUSE_MS = 250;

export interface Check {
  /** The newest answer, which is kept until the next one arrives. */
  readonly check?: AgentFileCheck | undefined;
  readonly error?: string | undefined;
  /** Whether the answer is about the current text. */
  readonly isCurrent: boolean;
}

/** Has the server check a draft whenever the user pauses. `draft` is undefined if there is nothing to check yet. */
export function useCheck(
  draft: AgentDraft | { readonly agent: string; readonly text: string } | undefined,
  worker: string | undefined,
): Check {
  const { client } = useServer();
  const [checked, setChecked] = useState<{ readonly key: string } & Omit<Check, "isCurrent">>({ key: "" });
  const key = draft === undefined ? "" : JSON.stringify(draft);
  useEffect(() => {
    if (key === "") return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      client.agentFiles.check(JSON.parse(key) as AgentDraft, worker).then(
        (check) => isCurrent && setChecked({ key, check }),
        (error: unknown) => isCurrent && setChecked({ key, error: asClientError(error).detail }),
      );
    }, PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [client, key, worker]);
  if (key === "") return { isCurrent: false };
  return { check: checked.check, error: checked.error, isCurrent: checked.key === key };
}
