import { type Line, textOf } from "../../protocol/index.ts";

const longest = 2_000;

/** What a person reads of a line in the file that grows beside a background agent; empty for most lines. */
export function outputText(line: Line): string {
  switch (line.type) {
    case "agent.created":
      return `${line.agentType} ${line.agentId}: ${line.description}\n`;
    case "prompt.received":
      return `\n> ${cut(textOf(line.content)).replaceAll("\n", "\n> ")}\n`;
    case "model.ended":
      return textOf(line.message.content).trim() === "" ? "" : `\n${textOf(line.message.content).trim()}\n`;
    case "tool.ended": {
      const text = cut(textOf(line.result.content).trim());
      return `\n${line.name} (${line.result.outcome})\n${text === "" ? "" : `  ${text.replaceAll("\n", "\n  ")}\n`}`;
    }
    case "model.retried":
      return `\n[asked again: ${line.retry.error}]\n`;
    case "run.ended":
      return `\n[${line.outcome}${line.reason === "done" ? "" : `: ${line.message ?? line.reason}`}]\n`;
    default:
      return "";
  }
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}
