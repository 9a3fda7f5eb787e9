import { useState } from "react";
import type { Receipt } from "../../protocol/index.ts";
import { asClientError } from "../state/server-store.ts";

/** What came of the last command. */
export interface Outcome {
  readonly text: string;
  readonly isRefused: boolean;
}

/** Sends commands one after the other, and tells what came of the last one. `send` returns whether it was carried out. */
export function useReceipts(): {
  readonly outcome: Outcome | undefined;
  readonly isBusy: boolean;
  readonly send: (command: () => Promise<Receipt>) => Promise<boolean>;
} {
  const [outcome, setOutcome] = useState<Outcome>();
  const [isBusy, setIsBusy] = useState(false);
  const send = async (command: () => Promise<Receipt>): Promise<boolean> => {
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
  return { outcome, isBusy, send };
}
