import { type ReactNode, useEffect, useState } from "react";
import { type AgentView, type SessionView, stateOf, tokensOf } from "../../client/index.ts";
import { formatCount, plural } from "../../lib/portable.ts";
import { type ContextReport, MAIN_AGENT } from "../../protocol/index.ts";
import { formatCost, formatTokens } from "../parts/format.ts";
import { useServer } from "../state/server-context.ts";
import { nameOf, pathWords, stateLine, typeOf } from "./agent-words.ts";
import { useReceipts } from "./receipts.ts";
import { useNames, useSessionId } from "./session-context.ts";

interface AgentPanelProps {
  readonly agent: AgentView;
  readonly view: SessionView;
  readonly isDeleted: boolean;
}

/** Shows an agent's details and the actions for it. */
export function AgentPanel({ agent, view, isDeleted }: AgentPanelProps): ReactNode {
  const { usage, end } = agent;
  const filesChanged = end?.facts.filesChanged ?? [];
  const rows: readonly (readonly [string, ReactNode])[] = [
    ["State", stateLine(agent)],
    ...(agent.path.length > 0 ? [["Path", pathWords(view, agent.path)] as const] : []),
    ["Model", agent.model],
    ["Mode", agent.permissionMode ?? "default"],
    ["Turns", agent.maxTurns === undefined ? agent.turns : `${agent.turns} of ${agent.maxTurns}`],
    ["Calls", agent.toolCalls],
    ...(agent.denied.length > 0 ? [["Denied", agent.denied.length] as const] : []),
    ...(filesChanged.length > 0 ? [["Files changed", filesChanged.join(", ")] as const] : []),
    ["Tokens", `${formatTokens(tokensOf(usage) - usage.outputTokens)} in · ${formatTokens(usage.outputTokens)} out`],
    ["From cache", `${formatTokens(usage.cacheReadTokens)}`],
    ["Cost", formatCost(agent.costUsd)],
  ];
  return (
    <>
      <h2>
        {nameOf(agent)} <span className="plain">{typeOf(agent)}</span>
      </h2>
      {!isDeleted && <AgentActions key={agent.agentId} agent={agent} isAnyActive={view.running.length > 0} />}
      <dl className="facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <ContextWindow agent={agent} />
    </>
  );
}

interface AgentActionsProps {
  readonly agent: AgentView;
  /** Whether any of the session's agents has a run in progress. */
  readonly isAnyActive: boolean;
}

function AgentActions({ agent, isAnyActive }: AgentActionsProps): ReactNode {
  const named = useNames();
  const session = useServer().client.sessions.open(useSessionId());
  const { outcome, isBusy, send } = useReceipts();
  const { agentId, background } = agent;
  const isMain = agentId === MAIN_AGENT;
  const isOver = ["idle", "ended"].includes(stateOf(agent));
  const mayResume =
    isOver && (agent.isCutOff === true || (agent.end !== undefined && agent.end.outcome !== "succeeded"));
  return (
    <>
      <div className="actions">
        {!isOver && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => void send(() => session.stop(isMain ? "turn" : agentId))}
          >
            Stop
          </button>
        )}
        {isAnyActive && (
          <button type="button" disabled={isBusy} onClick={() => void send(() => session.stop("tree"))}>
            Stop all agents
          </button>
        )}
        {mayResume && (
          <button type="button" disabled={isBusy} onClick={() => void send(() => session.resume(agentId))}>
            Resume
          </button>
        )}
        {!isOver && !isMain && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => void send(() => (background ? session.foreground(agentId) : session.background(agentId)))}
          >
            {background ? "Make its parent wait" : "Move to background"}
          </button>
        )}
      </div>
      <p className={`receipt ${outcome?.isRefused ? "bad" : "dim"}`} role="status">
        {outcome && named(outcome.text)}
      </p>
    </>
  );
}

/** Shows what fills the context window. Reloaded after each response. */
function ContextWindow({ agent }: { readonly agent: AgentView }): ReactNode {
  const { client } = useServer();
  const id = useSessionId();
  const { agentId, contextTokens } = agent;
  const [report, setReport] = useState<ContextReport>();
  useEffect(() => {
    if (contextTokens === 0) return undefined;
    let isCurrent = true;
    client.sessions
      .open(id)
      .context(agentId)
      .then(
        (newer) => isCurrent && setReport(newer),
        // Before the first request, there is no report.
        () => undefined,
      );
    return () => {
      isCurrent = false;
    };
  }, [client, id, agentId, contextTokens]);
  if (report === undefined || report.agentId !== agentId) return null;
  const { used, window, parts } = report;
  /** The first bar shows how full the window is, the last one what fills it. */
  const lengths = window === undefined ? [used] : [window, used];
  const shown = parts.slice(0, COLORS);
  const others = parts.slice(COLORS).reduce((sum, { tokens }) => sum + tokens, 0);
  const all = others > 0 ? [...shown, { name: plural(parts.length - COLORS, "other part"), tokens: others }] : shown;
  return (
    <div className="context">
      <h3>
        Context window
        {window !== undefined && <span className="number">{percent(used, window)}</span>}
      </h3>
      {lengths.map((length, row) => (
        <div key={row} className="context-bar" aria-hidden="true">
          {all.map(({ name, tokens }) => (
            <span key={name} className={`part ${kindOf(name)}`} style={{ width: percent(tokens, length, 2) }} />
          ))}
        </div>
      ))}
      <ul>
        {all.map(({ name, tokens }) => (
          <li key={name}>
            <span className={`part ${kindOf(name)}`} aria-hidden="true" />
            {name}
            <span className="number">{formatTokens(tokens)}</span>
          </li>
        ))}
      </ul>
      {window !== undefined && (
        <p className="dim">
          {formatCount(used)} of {formatCount(window)} tokens, estimated
        </p>
      )}
    </div>
  );
}

const COLORS = 7;

/** Returns the kind of a part, which always has the same color. */
function kindOf(name: string): string {
  return kinds.find(([word]) => name.includes(word))?.[1] ?? "part-other";
}

const kinds: readonly (readonly [string, string])[] = [
  ["results of", "part-results"],
  ["tool calls", "part-calls"],
  ["tools", "part-tools"],
  ["system", "part-system"],
  ["notes", "part-notes"],
  ["prompt", "part-prompts"],
  ["message", "part-prompts"],
  ["answer", "part-answers"],
  ["response", "part-answers"],
];

function percent(part: number, whole: number, digits = 0): string {
  const value = whole === 0 ? 0 : (100 * part) / whole;
  return `${value > 0 && value < 1 && digits === 0 ? value.toFixed(1) : value.toFixed(digits)}${digits === 0 ? " " : ""}%`;
}
