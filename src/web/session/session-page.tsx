import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import {
  type AgentView,
  agentOf,
  elements,
  endWords,
  inTreeOrder,
  type SessionView,
  totalsOf,
} from "../../client/index.ts";
import { type AgentId, MAIN_AGENT, type SessionId, type SessionInfo } from "../../protocol/index.ts";
import { RequestList } from "../approvals/request-list.tsx";
import { requestWanted } from "../approvals/request-wanted.ts";
import { AT_MOST, formatAge, formatCost, formatSum, formatTokens } from "../parts/format.ts";
import { Problem } from "../parts/problem.tsx";
import { sessionState } from "../sessions/session-state.ts";
import { useNow } from "../state/clock.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { useSteps } from "../state/use-steps.ts";
import { AgentPanel } from "./agent/agent-panel.tsx";
import { doingWords, pathWords } from "./agent/agent-words.ts";
import { Transcript } from "./conversation/transcript.tsx";
import { showRegion } from "./places.ts";
import { SessionContext } from "./session-context.ts";
import { LoadingSession, SessionNotes } from "./session-notes.tsx";
import { type SessionState, type SessionStore, watchSession } from "./session-store.ts";
import { Composer } from "./steering/composer.tsx";
import { RaiseBudgetButton } from "./steering/session-actions.tsx";
import { ResizeHandle } from "./timeline/resize-handle.tsx";
import { showUsage, TimeRegion } from "./timeline/time-region.tsx";
import { AgentTree } from "./tree/agent-tree.tsx";
import { type GroupRow, treeRows } from "./tree/tree-rows.ts";

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
    <ShownSession store={store} id={id}>
      <Session id={id} store={store} agentId={agentId ?? MAIN_AGENT} />
    </ShownSession>
  );
}

interface ShownSessionProps {
  readonly store: SessionStore;
  readonly id: SessionId;
  readonly children: ReactNode;
}

function ShownSession({ store, id, children }: ShownSessionProps): ReactNode {
  const value = useMemo(() => ({ id, view: () => store.get().view, subscribe: store.subscribe }), [store, id]);
  return <SessionContext value={value}>{children}</SessionContext>;
}

/** The regions, in the order of their tabs on narrow screens. */
const regions = ["needs", "talk", "tree", "time", "about"] as const;
type Region = (typeof regions)[number];
const regionNames: Readonly<Record<Region, string>> = {
  needs: "Waiting for you",
  talk: "Conversation",
  tree: "Agents",
  time: "Timeline",
  about: "Details",
};

interface SessionProps {
  readonly id: SessionId;
  readonly store: SessionStore;
  readonly agentId: AgentId;
}

function Session({ id, store, agentId }: SessionProps): ReactNode {
  const state = useStore(store);
  const { approvals: all } = useStore(useServer().store);
  const { view, info, isLoaded, liveAt, faults } = state;
  const [search, setSearch] = useState("");
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

  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const steps = useSteps(isLoaded, 2);
  const agents = useMemo(() => (steps === 0 ? [] : foundAgents(view, search)), [view, search, steps]);
  const isSearched = search.trim() !== "";
  const shownGroups = useRef<ReadonlyMap<string, boolean>>(new Map());
  const rows = useMemo(
    () =>
      treeRows(agents, {
        selected: agentId,
        toggled,
        shown: shownGroups.current,
        isSearched,
        agentOf: (each) => agentOf(view, each),
      }),
    [agents, agentId, toggled, isSearched, view],
  );
  useEffect(() => {
    const groups = rows.flatMap((row) => (row.kind === "group" ? [[row.key, row.isOpen] as const] : []));
    if (!isSearched) shownGroups.current = new Map([...shownGroups.current, ...groups]);
  }, [rows, isSearched]);
  const toggle = ({ key, isOpen }: GroupRow): void => setToggled(new Map(toggled).set(key, !isOpen));
  const isAlone = view.seq === 0;
  const problem = problemOf(state, isAlone);
  const isDeleted = isGone(state);
  if (problem !== undefined && isAlone) return <main className="alone">{problem}</main>;
  const approvals = isDeleted ? [] : all.filter(({ question }) => question.sessionId === id);
  const region = chosen ?? (approvals.length > 0 ? "needs" : "talk");
  const agent = agentOf(view, agentId);
  return (
    <main className="session" data-region={region}>
      <SessionHead
        view={view}
        info={info}
        isDeleted={isDeleted}
        isLoaded={isLoaded}
        waitingSince={approvals[0]?.askedAt}
      />
      {problem ?? <SessionNotes state={state} />}
      <nav className="regions" aria-label="Session regions">
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
      <section className="region tree-region" aria-label="Session agents">
        {steps > 0 ? (
          <AgentTree
            view={view}
            found={agents.length}
            rows={rows}
            onToggle={toggle}
            selected={agentId}
            onOpen={() => (region === "tree" || region === "needs") && showRegion("talk")}
            search={search}
            onSearch={setSearch}
            liveAt={liveAt}
          />
        ) : (
          <Loading title="Agents" />
        )}
      </section>
      <section className="region talk-region" aria-label="Agent conversation">
        {agentId !== MAIN_AGENT && agent !== undefined && (
          <p className="crumbs">
            <a href={linkTo({ page: "session", id })}>main</a>
            {pathWords(view, agent.path).slice(MAIN_AGENT.length)}
          </p>
        )}
        {!isLoaded ? (
          <LoadingSession state={state} />
        ) : agent === undefined ? (
          <p className="dim empty" role="status">
            {missingWords(agentId, view)}
          </p>
        ) : (
          <Transcript
            key={agentId}
            agent={agent}
            fault={faults.get(agentId)}
            onRetry={() => store.open(agentId)}
            total={costBelow(view, agent)}
          />
        )}
        <Composer key={`to ${agentId}`} view={view} agent={agent} isDisabled={isDeleted} />
      </section>
      <ResizeHandle />
      <section className="region time-region" aria-label="Agent timeline">
        {steps > 1 ? (
          <TimeRegion state={state} rows={rows} onToggle={toggle} selected={agentId} />
        ) : (
          <Loading title="Timeline" />
        )}
      </section>
      <div className="side">
        <section className="region needs-region" aria-label="Requests waiting for you">
          <h2>
            Waiting for you <span className="count">{approvals.length}</span>
          </h2>
          {approvals.length === 0 && <p className="dim">No requests are waiting.</p>}
          <RequestList approvals={approvals} pathOf={({ path }) => pathWords(view, path)} />
        </section>
        <section className="region about-region" aria-label="Agent details">
          {agent !== undefined && <AgentPanel agent={agent} state={state} info={isDeleted ? undefined : info} />}
        </section>
      </div>
    </main>
  );
}

/** Shows a region of a session whose view has not arrived yet. The conversation's region shows the progress. */
function Loading({ title }: { readonly title: string }): ReactNode {
  return (
    <>
      <h2>{title}</h2>
      <p className="dim tree-none">Shown when the session has loaded.</p>
    </>
  );
}

function missingWords(agentId: AgentId, view: SessionView): string {
  return view.seq === 0
    ? "This session has no prompt yet. Write one below."
    : `This session has no agent ${agentId}. Choose one from the list.`;
}

/** Returns the agents whose type, name, task or state contains the words of a search. */
function foundAgents(view: SessionView, search: string): readonly AgentView[] {
  const all = inTreeOrder(view);
  const word = search.trim().toLowerCase();
  if (word === "") return all;
  return all.filter((agent) =>
    `${agent.agentType} ${agent.name} ${agent.description} ${agent.agentId} ${doingWords(agent)}`
      .toLowerCase()
      .includes(word),
  );
}

/** Formats the cost of an agent and all agents below it. Undefined if there are none below it. */
function costBelow(view: SessionView, { agentId }: AgentView): string | undefined {
  let [count, costUsd, isCostKnown, isCostAtMost] = [0, 0, true, false];
  for (const each of elements(view.agents)) {
    if (agentId !== MAIN_AGENT && each.agentId !== agentId && !each.path.includes(agentId)) continue;
    count += 1;
    costUsd += each.costUsd ?? 0;
    isCostKnown &&= each.costUsd !== undefined;
    isCostAtMost ||= each.isCostAtMost === true;
  }
  return count === 1 ? undefined : formatSum({ costUsd, isCostKnown, isCostAtMost });
}

/** Returns whether the server has no such session. */
function isGone({ closed, link }: SessionState): boolean {
  return closed === "deleted" || link.error?.code === "unknown_session";
}

/** Returns whether this page has seen the session. If it is gone now, it was deleted. */
function wasSeen({ closed, info, view }: SessionState): boolean {
  return closed === "deleted" || info !== undefined || view.seq > 0;
}

/** Says why the session can't be used, and what to do. */
function problemOf(state: SessionState, isAlone: boolean): ReactNode {
  const { link } = state;
  const isPage = isAlone || undefined;
  if (isGone(state) && !wasSeen(state))
    return (
      <Problem title="There is no session with this id on this server" isPage={isPage}>
        It may have been deleted, or another server has it.{" "}
        <a href={linkTo({ page: "sessions" })}>Show the other sessions.</a>
      </Problem>
    );
  if (isGone(state))
    return (
      <Problem title="This session was deleted" isPage={isPage}>
        Its files are gone. <a href={linkTo({ page: "sessions" })}>Show the other sessions.</a>
      </Problem>
    );
  if (link.state === "refused" && link.error?.status !== 401)
    return (
      <Problem title="The session can't be shown" isPage={isPage}>
        {link.error?.detail}
      </Problem>
    );
  return undefined;
}

interface SessionHeadProps {
  readonly view: SessionView;
  readonly info: SessionInfo | undefined;
  readonly isDeleted: boolean;
  readonly isLoaded: boolean;
  /** When the oldest open request was made. */
  readonly waitingSince: number | undefined;
}

/** Shows the project, title, state, time, cost and budget. */
function SessionHead({ view, info, isDeleted, isLoaded, waitingSince }: SessionHeadProps): ReactNode {
  const now = useNow();
  const totals = useMemo(() => totalsOf(view), [view]);
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = totals.usage;
  const input = inputTokens + cacheReadTokens + cacheWriteTokens;
  const maxCost = info?.maxCost;
  const state = isDeleted ? ({ words: "deleted", tone: "calm" } as const) : info && headState(info, view, isLoaded);
  const main = agentOf(view, MAIN_AGENT);
  const isActive = view.running.length > 0;
  const since = waitingSince ?? (isActive ? main?.startedAt : undefined);
  return (
    <div className="session-head">
      <h1 title={info?.title}>
        {info?.cwd !== undefined && <span className="project">{info.cwd.split(/[\\/]/).at(-1)} / </span>}
        {info?.title ?? "Session"}
      </h1>
      {state && (
        <span className={`pill ${state.tone}`}>
          <span className={`dot ${state.tone}`} aria-hidden="true" />
          {state.words}
          {since !== undefined && !isDeleted && (
            <span className="dim number" title={waitingSince === undefined ? "Time since the start" : "Waiting time"}>
              {formatAge(now - since)}
            </span>
          )}
        </span>
      )}
      <span className="space" />
      {isLoaded && (
        <span className="number dim wide-only" title="Tokens read and written by all agents">
          {formatTokens(input)} in · {formatTokens(outputTokens)} out
        </span>
      )}
      {input > 0 && (
        <span className="number dim wide-only" title="Share of the input that was read from the provider's cache">
          cache {Math.round((100 * cacheReadTokens) / input)} %
        </span>
      )}
      {isLoaded && (
        <span className="budget number">
          <button
            type="button"
            className="number-link"
            title={`${totals.isCostAtMost ? `${AT_MOST}. ` : ""}Show the tokens and cost of each turn`}
            onClick={showUsage}
          >
            {formatSum(totals)}
            {maxCost !== undefined && ` of ${formatCost(maxCost)}`}
          </button>
          {maxCost !== undefined && (
            <meter aria-label="Budget spent" min={0} max={maxCost} value={totals.costUsd} high={maxCost * 0.8} />
          )}
        </span>
      )}
      <RaiseBudgetButton info={isDeleted || main?.end?.limit?.unpriced ? undefined : info} />
    </div>
  );
}

/** Describes the session's state. The view of its agents is more recent than the list of sessions. */
function headState(info: SessionInfo, view: SessionView, isLoaded: boolean): ReturnType<typeof sessionState> {
  if (info.approvals > 0) return sessionState(info);
  if (info.state === "parked" && info.detail === undefined) return { words: "paused", tone: "calm" };
  // The note below the header says what is damaged.
  if (info.state !== "parked" && info.detail !== undefined) return { words: "damaged", tone: "bad" };
  const end = agentOf(view, MAIN_AGENT)?.end;
  // Only the view knows whether the budget was used up, or can't be enforced.
  if (info.state === "idle" && end?.limit?.unpriced) return { words: endWords(end), tone: "asking" };
  const isBusy = info.state === "running" || info.state === "waiting";
  if (isBusy && isLoaded && view.running.length === 0 && !info.elsewhere) return { words: "starting", tone: "busy" };
  return sessionState(info);
}
