import { type ReactNode, useCallback, useState } from "react";
import { formatCount } from "../../lib/portable.ts";
import type { AgentReport } from "../../protocol/index.ts";
import { ColorMark } from "../parts/color-mark.tsx";
import { Problem } from "../parts/problem.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import type { AgentsPlace } from "./agents-place.ts";
import { EditAgent, hasUnsaved } from "./edit-agent.tsx";
import { Findings, shownPath } from "./findings.tsx";
import { ToolSummary } from "./tool-summary.tsx";

interface AgentDetailProps {
  readonly name: string;
  readonly place: AgentsPlace;
  /** Reloads everything. */
  readonly onChanged: () => void;
}

/** Shows everything about an agent: its fields, its tools, its cost and its problems. */
export function AgentDetail({ name, place, onChanged }: AgentDetailProps): ReactNode {
  const { client } = useServer();
  const { worker, version } = place;
  const [isEditing, setIsEditing] = useState(() => hasUnsaved(name, worker));
  const [note, setNote] = useState("");
  const load = useCallback(() => client.agentFiles.report(name, worker), [client, name, worker, version]);
  const { value: report, error } = useLoaded(load);
  const back = (
    <a className="agents-back" href={linkTo({ page: "agents" })}>
      ‹ All agents
    </a>
  );
  if (error !== undefined)
    return (
      <>
        {back}
        <Problem title={`The agent ${name} can't be shown`}>{error}</Problem>
      </>
    );
  if (report === undefined)
    return (
      <p className="dim" data-loading>
        Loading…
      </p>
    );
  const { text, hash } = report;
  return (
    <>
      {back}
      <div className="agent-title">
        <h2>
          <ColorMark color={report.color} />
          {report.name}
        </h2>
        <span className="pill">{sourceWords[report.source]}</span>
        <span className="space" />
        {text !== undefined && !isEditing && (
          <button type="button" onClick={() => setIsEditing(true)}>
            Edit
          </button>
        )}
      </div>
      <p className="receipt dim" role="status">
        {note}
      </p>
      {isEditing && text !== undefined && hash !== undefined ? (
        <EditAgent
          name={report.name}
          content={{ text, hash }}
          place={place}
          onReload={onChanged}
          onEnd={(said) => {
            setIsEditing(false);
            setNote(said ?? "");
            if (said !== undefined) onChanged();
          }}
        />
      ) : (
        <Report report={report} root={place.root} />
      )}
    </>
  );
}

const sourceWords: Readonly<Record<AgentReport["source"], string>> = {
  "built-in": "built in",
  plugin: "plugin",
  user: "yours",
  project: "this project",
  flag: "command line",
  policy: "managed",
};

function Report({ report, root }: { readonly report: AgentReport; readonly root: string }): ReactNode {
  const { description, problem, denied, diagnostics, notices, overrides, tokens, prompt, hidden } = report;
  // Problems with the agent's tools and mode are shown below.
  const others = notices.filter((notice) => !notice.startsWith("Agent "));
  return (
    <>
      <p className="agent-description">{description}</p>
      {problem !== undefined && <p className="note-box error">This agent can't be started. {problem}</p>}
      {denied !== undefined && <p className="note-box warning">Nothing can be delegated to this agent. {denied}</p>}
      <h3>Findings</h3>
      {diagnostics.length === 0 && others.length === 0 ? (
        <p className="dim">None. The definition loads, and the linter found nothing.</p>
      ) : (
        <Findings diagnostics={diagnostics} root={root} />
      )}
      {others.length > 0 && (
        <ul className="findings">
          {others.map((notice) => (
            <li key={notice} className="notice">
              <span className="severity">Notice</span>
              <span>{notice}</span>
            </li>
          ))}
        </ul>
      )}
      <h3>Tools</h3>
      <ToolSummary report={report} />
      <h3>Definition</h3>
      <dl className="agent-facts">
        {factsOf(report, root).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {overrides.map(({ source, file, reason }) => (
        <p key={`${source} ${file}`} className="dim">
          Replaces {file === undefined ? `the ${source} agent with the same name` : shownPath(file, root)}. {reason}
        </p>
      ))}
      <h3>Cost</h3>
      <p>
        {hidden ? (
          "It is hidden: models do not see it in their list, and it can only be started by name."
        ) : (
          <>
            <b className="number">{formatCount(tokens.listing)}</b> tokens in the list of every agent that can delegate,
            and{" "}
          </>
        )}{" "}
        <b className="number">{formatCount(tokens.prompt)}</b> tokens for its prompt, which each of its requests
        contains. Estimated.
      </p>
      <details className="agent-prompt">
        <summary>Prompt</summary>
        <pre>{prompt}</pre>
      </details>
    </>
  );
}

function factsOf(report: AgentReport, root: string): readonly (readonly [string, ReactNode])[] {
  const { model, effort, permissionMode, mode, maxTurns, background, isolation, memory, color, skills = [] } = report;
  const { mcpServers, hooks, file, plugin } = report;
  const optional = (name: string, value: ReactNode): readonly (readonly [string, ReactNode])[] =>
    value === undefined || value === "" || value === false ? [] : [[name, value]];
  return [
    ["Model", model === undefined || model === "inherit" ? "same as its parent" : model],
    ...optional("Effort", effort),
    ["Mode", modeWords(permissionMode, mode)],
    ...optional("Turns", maxTurns === undefined ? undefined : `at most ${maxTurns}`),
    ...optional("Background", background === true ? "always" : undefined),
    ...optional("Isolation", isolation === undefined ? undefined : "in its own worktree"),
    ...optional("Memory", memory),
    ...optional("Color", color),
    ...optional("Skills", skills.join(", ")),
    ...optional("MCP servers", mcpServers.join(", ")),
    ...optional("Hooks", hooks.join(", ")),
    ...optional("Plugin", plugin),
    ["File", file === undefined ? "none (built in)" : <code>{shownPath(file, root)}</code>],
  ];
}

function modeWords(asked: string | undefined, given: string | undefined): string {
  if (asked === undefined) return `same as its parent (${given ?? "default"})`;
  return given === undefined || asked === given ? asked : `${asked}, limited to ${given} by its parent`;
}
