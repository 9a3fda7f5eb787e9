import { useCallback, useEffect, useState } from "react";
import type { Receipt } from "../../../protocol/index.ts";
import { useOffline } from "../../state/offline.ts";
import { asClientError } from "../../state/server-store.ts";

/** Result of the last command. */
export interface Outcome {
  readonly text: string;
  readonly isRefused: boolean;
}

/** How long the receipt of a successful command is shown. */
const SHOWN_MS = 5_000;

/**
 * Sends commands one after the other, and briefly shows the result of the last one. A refusal stays visible until the
 * next command. `send` returns whether the command was carried out. While there is no connection, nothing is sent, and
 * the result says why.
 */
export function useReceipts(): {
  readonly outcome: Outcome | undefined;
  readonly isBusy: boolean;
  /** Removes the receipt of a successful command. */
  readonly clear: () => void;
  readonly send: (command: () => Promise<Receipt>) => Promise<boolean>;
} {
  const [outcome, setOutcome] = useState<Outcome>();
  const [isBusy, setIsBusy] = useState(false);
  const offline = useOffline();
  useEffect(() => {
    if (outcome === undefined || outcome.isRefused) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const send = async (command: () => Promise<Receipt>): Promise<boolean> => {
    if (offline !== undefined) return false;
    setIsBusy(true);
    try {
      const { message, status } = await command();
      setOutcome({ text: message, isRefused: status === "refused" });
      return status === "done";
    } catch (error) {
      setOutcome({ text: asClientError(error).detail, isRefused: true });
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  const clear = useCallback(() => setOutcome((last) => (last?.isRefused ? last : undefined)), []);
  return { outcome: offline === undefined ? outcome : { text: offline, isRefused: false }, isBusy, clear, send };
}
