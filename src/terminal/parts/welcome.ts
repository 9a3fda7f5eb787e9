import { homeDirectory, plural } from "../../lib/index.ts";
import { textColumns } from "../conversation/item-rows.ts";
import type { SessionFacts } from "../host.ts";
import { type Row, span } from "../screen/row.ts";
import { cleanLine, wrap } from "../screen/text.ts";

export interface WelcomeOptions {
  readonly version: string;
  readonly columns: number;
  readonly isPlain: boolean;
}

/** Shows the directory, the model and the agents. Without a model, also says how to get one. */
export function welcomeRows(facts: SessionFacts, { version, columns, isPlain }: WelcomeOptions): readonly Row[] {
  const { cwd, model, agents, agentType, isOffline, resumedAt, sessionId } = facts;
  const home = homeDirectory();
  const place = cleanLine(cwd === home || cwd.startsWith(`${home}/`) ? `~${cwd.slice(home.length)}` : cwd);
  const what = [model, agentType === "main" ? "" : agentType, plural(agents.length, "agent")];
  const head: readonly Row[] = [
    [span(isPlain ? "" : "  "), span("retinue", "title"), span(` ${version}  `, "dim"), span(place)],
    [span(isPlain ? "" : "  "), span(cleanLine(what.filter((part) => part !== "").join(" · ")), "dim")],
  ];
  const resumed = resumedAt === undefined ? [] : [[span(`  session ${sessionId}`, "dim")]];
  return [...head, ...resumed, ...(isOffline ? offlineRows(columns) : [])];
}

function offlineRows(columns: number): readonly Row[] {
  const line = (text: string): readonly Row[] =>
    wrap([span(text)], { columns: textColumns(columns), first: [span("  ")] });
  return [
    [],
    ...line(
      "No model is set up, so the offline model answers. It maps, searches and reads code, and says what it can't do.",
    ),
    ...line("To use a model, set one of these and start again:"),
    [span("    ANTHROPIC_API_KEY  ", "accent"), span("from console.anthropic.com")],
    [span("    OPENAI_API_KEY     ", "accent"), span("from platform.openai.com")],
    [span("    GEMINI_API_KEY     ", "accent"), span("from aistudio.google.com")],
    [span("    a local model      ", "accent"), span("such as Ollama: --provider ollama --model NAME")],
    [],
    ...line("Try: Map this repository"),
  ];
}
