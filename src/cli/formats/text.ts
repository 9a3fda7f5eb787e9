import { stripControls } from "../../lib/index.ts";
import type { Format } from "./format.ts";

/** The last words of the agent and nothing else. `forTerminal`: nothing in them may steer the terminal. */
export function createTextFormat({ forTerminal }: { readonly forTerminal: boolean }): Format {
  return {
    opened: () => "",
    update: () => "",
    result: ({ text }) => {
      const shown = forTerminal ? stripControls(text) : text;
      return shown === "" || shown.endsWith("\n") ? shown : `${shown}\n`;
    },
    failure: () => "",
  };
}
