import { type Context, createContext, runInContext } from "node:vm";

export type PatternTest =
  | { readonly ok: true; readonly matches: readonly boolean[] }
  | { readonly ok: false; readonly problem: "invalid" | "slow"; readonly message: string };

export interface PatternTexts {
  readonly texts: readonly string[];
  readonly flags?: string | undefined;
  /** Time limit for all strings together. The default is long, because a busy machine can take 100 ms for any pattern. */
  readonly limitMs?: number | undefined;
}

/** Context shared by all patterns, because creating one takes about a millisecond. */
let context: Context | undefined;

/**
 * Tests strings with a regular expression that a model, a file or a server supplied. Matching practically never ends
 * for some expressions, and Node can interrupt it only in a separate script context.
 */
export function testPattern(pattern: string, { texts, flags = "", limitMs = 1_000 }: PatternTexts): PatternTest {
  try {
    const expression = new RegExp(pattern, flags);
    context ??= createContext({});
    Object.assign(context, { expression, texts });
    const matches = runInContext("texts.map((text) => expression.test(text))", context, { timeout: limitMs });
    return { ok: true, matches: matches as boolean[] };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, problem: error instanceof SyntaxError ? "invalid" : "slow", message };
  } finally {
    if (context !== undefined) Object.assign(context, { expression: undefined, texts: undefined });
  }
}
