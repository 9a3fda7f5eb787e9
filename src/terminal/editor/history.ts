/** Prompts that were sent, oldest first, and the user's position in them. All functions here are pure. */
export interface History {
  readonly prompts: readonly string[];
  /** Index of the prompt that is shown; the number of prompts if the user is writing a new one. */
  readonly index: number;
  /** Text that the user had written before looking at older prompts. */
  readonly draft: string;
}

const MAX_PROMPTS = 1_000;

export function newHistory(prompts: readonly string[] = []): History {
  const kept = prompts.slice(-MAX_PROMPTS);
  return { prompts: kept, index: kept.length, draft: "" };
}

/** Adds a prompt, and starts a new one. A prompt that repeats the last one is not added. */
export function addPrompt({ prompts }: History, prompt: string): History {
  return newHistory(prompts.at(-1) === prompt ? prompts : [...prompts, prompt]);
}

/** Goes to an older or newer prompt. Returns undefined if there is none. */
export function moveInHistory(
  history: History,
  by: -1 | 1,
  text: string,
): { readonly history: History; readonly text: string } | undefined {
  const { prompts, index, draft } = history;
  const next = index + by;
  if (next < 0 || next > prompts.length) return undefined;
  const left = index === prompts.length ? text : draft;
  return { history: { prompts, index: next, draft: left }, text: prompts[next] ?? left };
}
