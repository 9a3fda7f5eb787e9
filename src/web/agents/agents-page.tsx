import { type ReactNode, useCallback, useState } from "react";
import type { AgentCatalog } from "../../client/index.ts";
import { formatCount, plural } from "../../lib/portable.ts";
import { ColorMark } from "../parts/color-mark.tsx";
import { Problem } from "../parts/problem.tsx";
import { useLoaded } from "../parts/use-loaded.ts";
import { goTo, linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { AgentDetail } from "./agent-detail.tsx";
import { Findings } from "./findings.tsx";
import { NewAgentForm } from "./new-agent-form.tsx";

interface AgentsPageProps {
  /** Name of the agent that is shown. */
  readonly agent?: string | undefined;
  readonly isNew?: true;
}

/** Lists the agents that can be started in a directory, and shows one of them or a new one in detail. */
export function AgentsPage({ agent, isNew }: AgentsPageProps): ReactNode {
  const { client, store } = useServer();
  const { workers } = useStore(store);
  const [worker, setWorker] = useState<string>();
  /** Increased when a file is written, so that everything is read again. */
  const [version, setVersion] = useState(0);
  const load = useCallback(() => client.agents(worker), [client, worker, version]);
  const loaded = useLoaded(load);
  const catalog = loaded.value;
  const choose = (name: string): void => {
    setWorker(name);
    if (agent !== undefined) goTo({ page: "agents" });
  };
  const place = { worker, root: catalog?.root ?? "", version };
  return (
    <main className="agents-page" data-detail={agent !== undefined || isNew}>
      <h1 className="hidden">Agents</h1>
      <section className="agents-list" aria-label="The directory's agents" tabIndex={0}>
        <div className="agents-head">
          <h2 className="agents-name">Agents</h2>
          <a className="button" href={linkTo({ page: "new-agent" })} aria-current={isNew && "page"}>
            New agent
          </a>
        </div>
        {workers.length > 1 && (
          <label className="agents-directory">
            <span className="dim">Directory</span>
            <select value={worker ?? ""} onChange={({ target }) => choose(target.value)}>
              {workers.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        {catalog !== undefined && <AgentList catalog={catalog} selected={isNew ? undefined : agent} />}
      </section>
      <section className="agents-detail" aria-label="Details" tabIndex={0}>
        {loaded.error !== undefined && <Problem title="The agents can't be listed">{loaded.error}</Problem>}
        {catalog === undefined && loaded.error === undefined && <p className="dim">Loading…</p>}
        {catalog !== undefined &&
          (isNew ? (
            <NewAgentForm key={worker} place={place} onWritten={() => setVersion(version + 1)} />
          ) : agent !== undefined ? (
            <AgentDetail
              key={`${worker} ${agent}`}
              name={agent}
              place={place}
              onChanged={() => setVersion(version + 1)}
            />
          ) : (
            <Overview catalog={catalog} />
          ))}
      </section>
    </main>
  );
}

const groups: readonly { readonly title: string; readonly sources: readonly string[] }[] = [
  { title: "This project", sources: ["project"] },
  { title: "Yours", sources: ["user"] },
  { title: "Other sources", sources: ["plugin", "policy", "flag", "program"] },
  { title: "Built in", sources: ["built-in"] },
];

interface AgentListProps {
  readonly catalog: AgentCatalog;
  readonly selected: string | undefined;
}

function AgentList({ catalog: { agents, diagnostics, switchedOff }, selected }: AgentListProps): ReactNode {
  return (
    <>
      {groups.map(({ title, sources }) => {
        const members = agents.filter(({ source }) => sources.includes(source));
        if (members.length === 0) return null;
        return (
          <nav key={title} aria-label={title}>
            <h2>{title}</h2>
            <ul>
              {members.map(({ name, file, description, denied, color }) => {
                const worst = worstOf(diagnostics.filter((each) => each.file === file));
                return (
                  <li key={name}>
                    <a
                      className="agent-link"
                      href={linkTo({ page: "agents", agent: name })}
                      aria-current={name === selected ? "page" : undefined}
                    >
                      <span className="name">
                        <ColorMark color={color} />
                        {name}
                      </span>
                      {(worst ?? denied) && <span className={`flag ${worst ?? "denied"}`}>{worst ?? "denied"}</span>}
                      <span className="description">{description}</span>
                    </a>
                  </li>
                );
              })}
            </ul>
          </nav>
        );
      })}
      {switchedOff.length > 0 && (
        <div>
          <h2>Switched off</h2>
          <ul>
            {switchedOff.map(({ name, reason }) => (
              <li key={name} className="agent-off">
                <span className="name">{name}</span>
                <span className="dim">{reason}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

/** Notices are not important enough for the list. */
function worstOf(diagnostics: AgentCatalog["diagnostics"]): "error" | "warning" | undefined {
  const severities = diagnostics.map(({ severity }) => severity);
  return severities.includes("error") ? "error" : severities.includes("warning") ? "warning" : undefined;
}

/** Shows information about all of the directory's agents, and problems in files that define none of them. */
function Overview({ catalog }: { readonly catalog: AgentCatalog }): ReactNode {
  const { agents, diagnostics, trusted, root, tokens, off } = catalog;
  const files = new Set(agents.map(({ file }) => file));
  const others = diagnostics.filter(({ file }) => !files.has(file));
  const hasUnread = off.some((path) => /(^|[/\\])agents$/.test(path));
  return (
    <div className="agents-overview">
      <h2 className="wide-only">Choose an agent to see its tools, its cost and its problems.</h2>
      <p>
        {plural(agents.length, "agent")} can be started in <code>{root}</code>. The list that models choose from takes
        up {formatCount(tokens)} tokens.
      </p>
      {!trusted && (
        <p className={hasUnread ? "note-box warning" : "note-box"}>
          {hasUnread
            ? "This directory's own agents are not loaded, because it is not trusted. "
            : "This directory is not trusted, so its own agents are not loaded. "}
          Review its files, then run <code>retinue trust add</code> there.
        </p>
      )}
      {others.length > 0 && (
        <>
          <h2>Problems in other files</h2>
          <Findings diagnostics={others} root={root} />
        </>
      )}
    </div>
  );
}
