import { type ReactNode, useEffect, useState } from "react";
import type { AgentCatalog } from "../../client/index.ts";
import { Problem } from "../parts/problem.tsx";
import { useServer } from "../state/server-context.ts";
import { asClientError } from "../state/server-store.ts";
import { useStore } from "../state/store.ts";

type Loaded = { readonly catalog: AgentCatalog } | { readonly error: string };

/** Lists the agents that can be started in each directory, and what is wrong with their files. */
export function AgentsPage(): ReactNode {
  const { client, store } = useServer();
  const { workers } = useStore(store);
  const [worker, setWorker] = useState<string>();
  const [loaded, setLoaded] = useState<Loaded>();
  useEffect(() => {
    let isCurrent = true;
    setLoaded(undefined);
    client.agents(worker).then(
      (catalog) => isCurrent && setLoaded({ catalog }),
      (error: unknown) => isCurrent && setLoaded({ error: asClientError(error).detail }),
    );
    return () => {
      isCurrent = false;
    };
  }, [client, worker]);
  return (
    <main className="sessions agents" tabIndex={0}>
      <div className="list-head">
        <h1>Agents</h1>
        {workers.length > 1 && (
          <select aria-label="Directory" value={worker ?? ""} onChange={({ target }) => setWorker(target.value)}>
            {workers.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </div>
      {loaded === undefined && <p className="dim">Loading…</p>}
      {loaded !== undefined && "error" in loaded && (
        <Problem title="The agents can't be listed">{loaded.error}</Problem>
      )}
      {loaded !== undefined && "catalog" in loaded && <Catalog catalog={loaded.catalog} />}
    </main>
  );
}

function Catalog({ catalog }: { readonly catalog: AgentCatalog }): ReactNode {
  const { agents, diagnostics, switchedOff, trusted, root } = catalog;
  return (
    <>
      <p className="dim">
        In <code>{root}</code>.{" "}
        {!trusted && "This directory is not trusted, so its own agents are not loaded. Run retinue trust add there."}
      </p>
      {diagnostics.length > 0 && (
        <section aria-label="Problems in agent files">
          <h2>Problems in agent files</h2>
          <ul className="rows">
            {diagnostics.map(({ severity, file, line, message }) => (
              <li key={`${file}:${line}:${message}`} className="diagnostic">
                <span className={`dot ${severity === "error" ? "bad" : "asking"}`} aria-hidden="true" />
                <span>
                  <span className="severity">{severity}</span> {message}
                  <code className="dim place">
                    {file}:{line}
                  </code>
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-label="Agents that can be started">
        <h2>Can be started</h2>
        <ul className="rows">
          {agents.map(({ name, source, description }) => (
            <li key={name} className="agent-entry">
              <span className="name">{name}</span>
              <span className="dim source">{source}</span>
              <span className="description">{description}</span>
            </li>
          ))}
        </ul>
      </section>
      {switchedOff.length > 0 && (
        <section aria-label="Agents that are switched off">
          <h2>Switched off</h2>
          <ul className="rows">
            {switchedOff.map(({ name, reason }) => (
              <li key={name} className="agent-entry">
                <span className="name">{name}</span>
                <span className="description dim">{reason}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
