import { type ReactNode, useEffect, useState } from "react";
import { type AgentView, type Spans, stateOf, tokensOf } from "../../../client/index.ts";
import { formatCount, plural } from "../../../lib/portable.ts";
import { type ContextReport, MAIN_AGENT, type SessionInfo } from "../../../protocol/index.ts";
import { ColorMark } from "../../parts/color-mark.tsx";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { AT_MOST, formatCost, formatTokens } from "../../parts/format.ts";
import { SendButton } from "../../parts/send-button.tsx";
import { goTo } from "../../state/route.ts";
import { useServer } from "../../state/server-context.ts";
import { focusedCall } from "../conversation/focused-call.ts";
import { showRegion } from "../places.ts";
import { useNames, useSessionId } from "../session-context.ts";
import type { SessionState } from "../session-store.ts";
import { useReceipts } from "../steering/receipts.ts";
import { SessionActions } from "../steering/session-actions.tsx";
import { lastChange } from "../timeline/last-change.ts";
import { showUsage } from "../timeline/time-region.tsx";
import { modeOf, nameOf, pathWords, stateLine, typeOf } from "./agent-words.ts";
import { COLORS, contextColors } from "./context-colors.ts";

interface AgentPanelProps {
  readonly agent: AgentView;
  readonly state: Pick<SessionState, "view" | "spans">;
  /** Undefined if the session was deleted. */
  readonly info: SessionInfo | undefined;
}

/** Shows an agent's details and the actions for it. */
export function AgentPanel({ agent, state: { view, spans }, info }: AgentPanelProps): ReactNode {
  const { usage, filesChanged } = agent;
  const rows: readonly (readonly [string, ReactNode])[] = [
    ["State", stateLine(agent)],
    ...(agent.path.length > 0 ? [["Path", pathWords(view, agent.path)] as const] : []),
    ["Model", agent.model],
    ["Mode", modeOf(agent, view, info)],
    ["Turns", turnWords(agent)],
    ["Calls", agent.toolCalls],
    ...(agent.denied.length > 0 ? [["Denied", agent.denied.length] as const] : []),
    ...(filesChanged.length > 0
      ? [["Files changed", <ChangedFiles key="files" paths={filesChanged} spans={spans} />] as const]
      : []),
    ["Tokens", `${formatTokens(tokensOf(usage) - usage.outputTokens)} in · ${formatTokens(usage.outputTokens)} out`],
    ["From cache", `${formatTokens(usage.cacheReadTokens)}`],
    [
      "Cost",
      <button
        key="cost"
        type="button"
        className="number-link"
        title={agent.isCostAtMost ? `${AT_MOST}. Show the cost of each turn` : "Show the cost of each turn"}
        onClick={showUsage}
      >
        {formatCost(agent.costUsd, agent.isCostAtMost)}
      </button>,
    ],
  ];
  return (
    <>
      <h2>
        <ColorMark color={agent.color} />
        {nameOf(agent)} <span className="plain">{typeOf(agent)}</span>
      </h2>
      {info !== undefined && <AgentActions key={agent.agentId} agent={agent} running={view.running.length} />}
      <dl className="facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <ContextWindow agent={agent} />
      {info !== undefined && agent.agentId === MAIN_AGENT && (
        <SessionActions info={info} model={agent.model} mode={modeOf(agent, view, info)} />
      )}
    </>
  );
}

interface ChangedFilesProps {
  readonly paths: readonly string[];
  readonly spans: Spans;
}

/** Lists the files that an agent and its subagents have changed. A click opens the last change to a file. */
function ChangedFiles({ paths, spans }: ChangedFilesProps): ReactNode {
  const id = useSessionId();
  return paths.map((path) => {
    const change = lastChange(spans, path);
    if (change === undefined) return <div key={path}>{path}</div>;
    const open = (): void => {
      goTo({ page: "session", id, agent: change.agentId });
      showRegion("talk");
      focusedCall.set(change.callId);
    };
    return (
      <button key={path} type="button" className="number-link" title="Show the last change" onClick={open}>
        {path}
      </button>
    );
  });
}

/** Says how many turns an agent has had. Its limit applies to each run, together with the runs that it continues. */
function turnWords({ turns, maxTurns, before, continuedTurns = 0 }: AgentView): string {
  if (maxTurns === undefined) return String(turns);
  const uncounted = before.turns - continuedTurns;
  return uncounted <= 0 ? `${turns} of ${maxTurns}` : `${turns} (${turns - uncounted} of ${maxTurns} in this run)`;
}

interface AgentActionsProps {
  readonly agent: AgentView;
  /** Number of the session's agents that have a run in progress. */
  readonly running: number;
}

function AgentActions({ agent, running }: AgentActionsProps): ReactNode {
  const named = useNames();
  const session = useServer().client.sessions.open(useSessionId());
  const { outcome, isBusy, send } = useReceipts();
  const [isAsking, setIsAsking] = useState(false);
  const { agentId, background } = agent;
  const isMain = agentId === MAIN_AGENT;
  const isOver = ["idle", "ended"].includes(stateOf(agent));
  const mayResume =
    isOver &&
    agent.runId !== undefined &&
    (agent.isCutOff === true || (agent.end !== undefined && agent.end.outcome !== "succeeded"));
  const run = (command: Parameters<typeof send>[0]) => (): void => {
    if (!isBusy) void send(command);
  };
  const stopAll = (): void => {
    setIsAsking(false);
    run(() => session.stop("tree"))();
  };
  return (
    <>
      {isAsking && (
        <ConfirmDialog
          title="Stop all agents?"
          action={`Stop ${plural(running, "agent")}`}
          onConfirm={stopAll}
          onCancel={() => setIsAsking(false)}
        >
          {plural(running, "agent")} {running === 1 ? "is" : "are"} working. Their work will be interrupted. Each one
          can be resumed.
        </ConfirmDialog>
      )}
      <div className="actions">
        {!isOver && (
          <SendButton isHeld={isBusy} onClick={run(() => session.stop(isMain ? "turn" : agentId))}>
            Stop
          </SendButton>
        )}
        {isMain && running > 0 && (
          <SendButton isHeld={isBusy} onClick={() => (running > 1 ? setIsAsking(true) : stopAll())}>
            Stop all agents{running > 1 ? "…" : ""}
          </SendButton>
        )}
        {mayResume && (
          <SendButton isHeld={isBusy} onClick={run(() => session.resume(agentId))}>
            Resume
          </SendButton>
        )}
        {!isOver && !isMain && (
          <SendButton
            isHeld={isBusy}
            onClick={run(() => (background ? session.foreground(agentId) : session.background(agentId)))}
          >
            {background ? "Make its parent wait" : "Move to background"}
          </SendButton>
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
  /** Lengths of the bars. The first bar shows how full the window is, the last one shows what fills it. */
  const lengths = window === undefined ? [used] : [window, used];
  const shown = parts.slice(0, COLORS);
  const others = parts.slice(COLORS).reduce((sum, { tokens }) => sum + tokens, 0);
  const colors = contextColors(shown.map(({ name }) => name));
  const all = [
    ...shown.map((part, index) => ({ ...part, color: `part-${colors[index]}` })),
    ...(others > 0 ? [{ name: plural(parts.length - COLORS, "other part"), tokens: others, color: "part-other" }] : []),
  ];
  return (
    <div className="context">
      <h3>
        Context window
        {window !== undefined && <span className="number">{percent(used, window)}</span>}
      </h3>
      {lengths.map((length, row) => (
        <div key={row} className="context-bar" aria-hidden="true">
          {all.map(({ name, tokens, color }) => (
            <span key={name} className={`part ${color}`} style={{ width: percent(tokens, length, 2) }} />
          ))}
        </div>
      ))}
      <ul>
        {all.map(({ name, tokens, color }) => (
          <li key={name}>
            <span className={`part ${color}`} aria-hidden="true" />
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

function percent(part: number, whole: number, digits = 0): string {
  const value = whole === 0 ? 0 : (100 * part) / whole;
  return `${value > 0 && value < 1 && digits === 0 ? value.toFixed(1) : value.toFixed(digits)}${digits === 0 ? " " : ""}%`;
}
