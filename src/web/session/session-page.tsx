import { type ReactNode, useEffect, useMemo, useState } from "react";
import { agentOf, type SessionView, totalsOf } from "../../client/index.ts";
import { plural } from "../../lib/portable.ts";
import { type AgentId, MAIN_AGENT, type SessionId, type SessionInfo } from "../../protocol/index.ts";
import { RequestList } from "../approvals/request-list.tsx";
import { requestWanted } from "../approvals/request-wanted.ts";
import { formatCost, formatTokens } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { sessionState } from "../sessions/session-state.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { AgentPanel } from "./agent-panel.tsx";
import { AgentTree } from "./agent-tree.tsx";
import { pathWords } from "./agent-words.ts";
import { Composer } from "./composer.tsx";
import { SessionIdContext } from "./session-context.ts";
import { type SessionState, type SessionStore, watchSession } from "./session-store.ts";
import { Transcript } from "./transcript.tsx";
import { Waterfall } from "./waterfall.tsx";

interface SessionPageProps {
  readonly id: SessionId;
  readonly agentId?: AgentId | undefined;
}

/** Follows a session as long as it is shown. */
export function SessionPage({ id, agentId }: SessionPageProps): ReactNode {
  const { client, store: server } = useServer();
  const [store, setStore] = useState<SessionStore>();
  useEffect(() => {
    const watched = watchSession(client, server, id);
    setStore(watched);
    return () => watched.leave();
  }, [client, server, id]);
  if (store === undefined) return <main className="alone" />;
  return (
    <SessionIdContext value={id}>
      <Session store={store} agentId={agentId ?? MAIN_AGENT} />
    </SessionIdContext>
  );
}

/** The regions, in the order in which narrow screens offer them. */
const regions = ["needs", "talk", "tree", "time", "about"] as const;
type Region = (typeof regions)[number];
const regionNames: Readonly<Record<Region, string>> = {
  needs: "Needs you",
  talk: "Conversation",
  tree: "Agents",
  time: "Timeline",
  about: "Details",
};

interface SessionProps {
  readonly store: SessionStore;
  readonly agentId: AgentId;
}

function Session({ store, agentId }: SessionProps): ReactNode {
  const state = useStore(store);
  const { approvals: all } = useStore(useServer().store);
  const { view, info, spans, isLoaded } = state;
  const [chosen, setChosen] = useState<Region>();
  const isRequestWanted = useStore(requestWanted);
  useEffect(() => {
    if (isRequestWanted) setChosen("needs");
  }, [isRequestWanted]);
  const hasAgent = agentOf(view, agentId) !== undefined;
  useEffect(() => {
    if (!hasAgent) return undefined;
    store.open(agentId);
    return () => store.close(agentId);
  }, [store, agentId, hasAgent]);

  const problem = problemOf(state);
  if (problem !== undefined && view.seq === 0) return <main className="alone">{problem}</main>;
  const approvals = all.filter(({ question }) => question.sessionId === info?.id);
  const region = chosen ?? (approvals.length > 0 ? "needs" : "talk");
  const agent = agentOf(view, agentId);
  return (
    <main className="session" data-region={region}>
      <SessionHead view={view} info={info} />
      {problem}
      <nav className="regions" aria-label="Regions of the session">
        {regions.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === region}
            onClick={() => setChosen(each)}
            data-for={each}
          >
            {regionNames[each]}
            {each === "needs" && approvals.length > 0 && <span className="badge">{approvals.length}</span>}
          </button>
        ))}
      </nav>
      <section className="region tree-region" aria-label="Agents of the session">
        <AgentTree view={view} selected={agentId} />
      </section>
      <section className="region talk-region" aria-label="Conversation of the agent">
        {agentId !== MAIN_AGENT && agent !== undefined && (
          <p className="crumbs">
            <a href={linkTo({ page: "session", id: store.get().info?.id ?? ("" as SessionId) })}>main</a>
            {pathWords(view, agent.path).slice(MAIN_AGENT.length)}
          </p>
        )}
        {agent === undefined ? (
          <p className="dim empty">{isLoaded ? missingWords(agentId, view) : "Loading…"}</p>
        ) : (
          <Transcript key={agentId} agent={agent} />
        )}
        <Composer view={view} agent={agent} />
      </section>
      <section className="region time-region" aria-label="Timeline of the agents">
        <Waterfall view={view} spans={spans} selected={agentId} />
      </section>
      <div className="side">
        <section className="region needs-region" aria-label="Requests that wait for you">
          <h2>
            Waiting for you <span className="count">{approvals.length}</span>
          </h2>
          {approvals.length === 0 && <p className="dim">Nothing needs you now.</p>}
          <RequestList approvals={approvals} pathOf={({ path }) => pathWords(view, path)} />
        </section>
        <section className="region about-region" aria-label="Details of the agent">
          {agent !== undefined && <AgentPanel agent={agent} view={view} />}
        </section>
      </div>
    </main>
  );
}

function missingWords(agentId: AgentId, view: SessionView): string {
  return view.seq === 0
    ? "This session has no prompt yet. Write one below."
    : `This session has no agent ${agentId}. Choose one from the list.`;
}

/** Says what is wrong with the session or its connection, and what to do. */
function problemOf({ link, closed, view, info }: SessionState): ReactNode {
  if (closed === "deleted" || link.error?.code === "unknown_session")
    return (
      <Problem title="This session was deleted">
        Its files are gone. <a href={linkTo({ page: "sessions" })}>Show the other sessions.</a>
      </Problem>
    );
  if (link.state === "refused" && link.error?.status !== 401)
    return <Problem title="The session can't be shown">{link.error?.detail}</Problem>;
  if (view.skipped > 0)
    return (
      <p className="link-note" role="status">
        {plural(view.skipped, "recorded event")} of this session could not be read and{" "}
        {view.skipped === 1 ? "is" : "are"} not shown. The files may be damaged; <code>retinue doctor</code> checks
        them.
      </p>
    );
  const notes = [info?.detail, ...(info?.notices ?? [])].filter((note) => note !== undefined && note !== "");
  return notes.length === 0 ? undefined : (
    <p className="link-note calm" role="status">
      {notes.join(" ")}
    </p>
  );
}

interface SessionHeadProps {
  readonly view: SessionView;
  readonly info: SessionInfo | undefined;
}

/** Title, state, cost and budget. */
function SessionHead({ view, info }: SessionHeadProps): ReactNode {
  const totals = useMemo(() => totalsOf(view), [view]);
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = totals.usage;
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  const cost = `${formatCost(totals.costUsd)}${totals.isCostKnown ? "" : " and unknown costs"}`;
  const maxCost = info?.maxCost;
  const state = info && sessionState(info);
  return (
    <div className="session-head">
      <h1 title={info?.title}>{info?.title ?? "Session"}</h1>
      {state && (
        <span className={`pill ${state.tone}`}>
          <span className={`dot ${state.tone}`} aria-hidden="true" />
          {state.words}
        </span>
      )}
      <span className="space" />
      <span className="number dim" title="Tokens read and written by all agents">
        {formatTokens(input)} in · {formatTokens(outputTokens)} out
      </span>
      {input > 0 && (
        <span className="number dim" title="Share of the input that was read from the provider's cache">
          cache {Math.round((100 * cacheReadTokens) / input)} %
        </span>
      )}
      {maxCost === undefined ? (
        <span className="number">{cost}</span>
      ) : (
        <span className="budget number">
          {cost} of {formatCost(maxCost)}
          <meter aria-label="Budget spent" min={0} max={maxCost} value={totals.costUsd} high={maxCost * 0.8} />
        </span>
      )}
    </div>
  );
}
