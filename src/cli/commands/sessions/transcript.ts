import { agentOf, delayWords, endWords, foldSession, newSessionView, oneLine } from "../../../client/index.ts";
import { formatCount, formatDuration, plural, stripControls } from "../../../lib/index.ts";
import {
  ENVIRONMENT_OPENING,
  type EventOf,
  type Line,
  MAIN_AGENT,
  runtimeTextBegins,
  textOf,
  withinRuntimeTag,
} from "../../../protocol/index.ts";
import { withFlags } from "../../output.ts";

interface TranscriptHead {
  readonly id: string;
  readonly problems: readonly string[];
  /** Command that resumes the agent if its last run was cut off; absent while a process uses the session. */
  readonly resumable?: string | undefined;
}

/** Renders a session for a person: its messages, its tool calls with their outcomes, and how each run ended. */
export function renderTranscript(lines: readonly Line[], { id, problems, resumable }: TranscriptHead): string {
  let view = newSessionView({ keep: 0 });
  const parts = [`Session ${id}`, ...problems.map((problem) => `! ${oneLine(problem)}`)];
  for (const line of lines) {
    view = foldSession(view, { agentId: MAIN_AGENT, event: line });
    const part = renderLine(line, agentOf(view, MAIN_AGENT)?.lastCall?.target);
    if (part !== "") parts.push(part);
  }
  if (resumable !== undefined && isCutOff(lines)) {
    const fix = `To continue: ${resumable}`;
    parts.push(`\n── cut off: the process ended before the run did\n   ${fix}`);
  }
  return `${parts.join("\n")}\n`;
}

/** Returns whether the last run has no recorded end. */
function isCutOff(lines: readonly Line[]): boolean {
  return lines.findLast(({ type }) => type === "run.started" || type === "run.ended")?.type === "run.started";
}

/**
 * Renders a line; empty for most types. `target` describes the input of the call that the line is about. Files can be
 * damaged, and newer versions may write other fields, but a line that can't be shown must not hide the rest.
 */
export function renderLine(line: Line, target = ""): string {
  try {
    return renderContent(line, target);
  } catch {
    return `! Line ${oneLine(line.id)} (${oneLine(line.type)}) can't be shown.`;
  }
}

function renderContent(line: Line, target: string): string {
  switch (line.type) {
    case "session.created":
      return `Directory ${oneLine(line.cwd)} · started ${timeOf(line.at)} · version ${oneLine(line.version)}`;
    case "agent.created":
      return `Agent ${oneLine(line.agentType)} · ${oneLine(line.description)} · for ${oneLine(line.parent.agentId)} · started ${timeOf(line.at)}`;
    case "agent.spawned":
      return `  → ${oneLine(line.agentType)} ${oneLine(line.agentId)} · ${oneLine(line.description)}`;
    case "agent.resumed":
      return `  → ${oneLine(line.agentId)} continues`;
    case "run.backgrounded":
      return "  (in the background from here on)";
    case "run.awaited":
      return `  (waiting for ${oneLine(line.agentId)})`;
    case "wait.ended":
      return `  (no longer waiting for ${oneLine(line.agentId)})`;
    case "run.delayed":
      return `  (${delayWords[line.by]})`;
    case "prompt.queued":
      return `  (queued: ${oneLine(textOf(line.content))})`;
    case "prompt.withdrawn":
      return "  (a queued prompt was withdrawn)";
    case "plan.entered":
      return "  (plan mode: from here on, the agent only reads)";
    case "plan.left":
      return `  (plan mode ended${line.mode === undefined ? "" : `, permission mode: ${line.mode}`})`;
    case "mode.changed":
      return `  (permission mode: ${line.mode})`;
    case "notices.delivered":
      return `  (notified that these agents ended: ${line.notices.map(({ agentId }) => oneLine(agentId)).join(", ")})`;
    case "run.started":
      return `\n── ${line.kind === "fresh" ? "Run" : "Resumed"} · ${oneLine(line.model)} · ${oneLine(withFlags(line.modelReason))} · ${line.permissionMode}`;
    case "prompt.received":
      return prompted(line);
    case "context.added":
      return runtimeTextBegins(line.text, ENVIRONMENT_OPENING)
        ? ""
        : `  (told: ${oneLine(withinRuntimeTag(line.text))})`;
    case "model.retried":
      return `  … tried again after ${oneLine(line.retry.error)}`;
    case "model.failed":
      // A request that was stopped is not a failure of the model, and the end of the run reports it.
      return line.error.code === "aborted" ? "" : `  ✗ The model failed: ${oneLine(line.error.message)}`;
    case "model.ended": {
      const { content } = line.message;
      const text = textOf(content);
      const thinking = content.flatMap((block) =>
        block.type === "thinking" && block.text !== "" ? [`  ∴ ${oneLine(block.text).slice(0, 300)}`] : [],
      );
      return [...thinking, ...(text === "" ? [] : [`\n${indent(text, "")}`])].join("\n");
    }
    case "tool.ended":
      return renderCall(line, target);
    case "conversation.compacted":
      return "  (the conversation was summarized here)";
    case "conversation.rewound":
      return "  (the user went back to an earlier prompt)";
    case "notice.raised":
      return `  ! ${oneLine(withFlags(line.message))}`;
    case "hooks.ran":
      return renderHooks(line);
    case "acceptance.checked":
      return `  ${line.ok ? "✓ accepted" : "✗ not accepted"} by ${oneLine(line.command)}${line.ok ? "" : `: ${oneLine(line.output)}`}`;
    case "run.ended":
      return renderEnd(line);
    default:
      return "";
  }
}

function prompted({ content, from }: EventOf<"prompt.received">): string {
  const label = from === "agent" ? "Asked: " : "You: ";
  return `\n${label}${indent(textOf(content), " ".repeat(label.length)).trimStart()}`;
}

/** Renders the effect of hooks; empty if they had none. */
function renderHooks({ event, decision, reason, inputJson, context }: EventOf<"hooks.ran">): string {
  const effects = [
    ...(decision === undefined ? [] : [decision]),
    ...(inputJson === undefined ? [] : [`changed the input to ${oneLine(inputJson)}`]),
    ...(reason === undefined ? [] : [oneLine(reason)]),
    ...(context === undefined ? [] : [`added context: ${oneLine(context)}`]),
  ];
  return effects.length === 0 ? "" : `  (${event} hook: ${effects.join(" · ")})`;
}

function renderCall({ name, result, milliseconds }: EventOf<"tool.ended">, target: string): string {
  const call = `  • ${oneLine(name)}${target && ` ${target}`} · ${result.outcome} · ${formatDuration(milliseconds)}`;
  const [first] = result.content;
  if (result.outcome === "ok" || first?.type !== "text") return call;
  return `${call}\n    ${oneLine(first.text).slice(0, 300)}`;
}

function renderEnd({
  outcome,
  reason,
  limit,
  message,
  text,
  turns,
  usage,
  costUsd,
  milliseconds,
  facts,
}: EventOf<"run.ended">) {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const cached = usage.cacheReadTokens > 0 ? ` (${formatCount(usage.cacheReadTokens)} from cache)` : "";
  const parts = [
    endWords({ reason, limit }),
    plural(turns, "turn"),
    `${formatCount(input)} tokens in${cached}, ${formatCount(usage.outputTokens)} out`,
    costUsd === undefined ? "cost unknown" : `$${costUsd.toFixed(4)}`,
    formatDuration(milliseconds),
  ];
  // If the model gives up, its last text explains why, and that is already shown above.
  const isShown = message === undefined || outcome === "succeeded" || message.trim() === text.trim();
  const why = isShown ? "" : `\n   ${oneLine(withFlags(message))}`;
  const files = facts.filesChanged.length === 0 ? "" : `\n   changed: ${facts.filesChanged.map(oneLine).join(", ")}`;
  return `\n── ${parts.join(" · ")}${why}${files}`;
}

function indent(text: string, mark: string): string {
  return stripControls(text)
    .trimEnd()
    .split("\n")
    .map((line) => `${mark}${line}`.trimEnd())
    .join("\n");
}

function timeOf(at: number): string {
  return new Date(at).toISOString().replace("T", " ").slice(0, 16);
}
