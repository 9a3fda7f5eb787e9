import type { HookOutcome } from "../ports/index.ts";
import type { HookAnswer, HookSource } from "../protocol/index.ts";
import { strictest } from "./read-answer.ts";

export interface SaidByHook {
  readonly source: HookSource;
  readonly answer: HookAnswer;
}

/**
 * What hooks said together: the strictest decision, with the reasons of those who made it; of changed inputs the last, in
 * the order they are configured; everybody's words.
 */
export function foldHooks(said: readonly SaidByHook[]): HookOutcome {
  const answers = said.map(({ answer }) => answer);
  const decision = strictest(answers.flatMap((answer) => answer.decision ?? []));
  const deciding = said.filter(({ answer }) => decision !== undefined && answer.decision === decision);
  const reason = joined(deciding.map(({ answer }) => answer.reason));
  const input = answers.findLast((answer) => answer.input !== undefined)?.input;
  const context = joined(answers.map((answer) => answer.context));
  const by = deciding.map(({ source }) => source);
  return {
    ran: said.length,
    ...(decision === undefined ? {} : { decision }),
    ...(decision === "allow" ? { allowedBy: by.includes("user") ? "user" : (by[0] ?? "project") } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(input === undefined ? {} : { input }),
    ...(context === undefined ? {} : { context }),
    notices: answers.flatMap(({ notice }) => notice ?? []),
  };
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  const said = texts.filter((text) => text !== undefined && text !== "");
  return said.length === 0 ? undefined : said.join("\n");
}
