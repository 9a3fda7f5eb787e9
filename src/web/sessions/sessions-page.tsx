import { type ReactNode, useState } from "react";
import { plural } from "../../lib/portable.ts";
import type { SessionInfo } from "../../protocol/index.ts";
import { formatAge } from "../parts/format.ts";
import { useNow } from "../state/clock.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { NewSessionForm } from "./new-session-form.tsx";
import { sessionState } from "./session-state.ts";

/** Lists the sessions of the server, those that wait for an answer first, and starts new ones. */
export function SessionsPage(): ReactNode {
  const { sessions, workers, link } = useStore(useServer().store);
  const [search, setSearch] = useState("");
  const words = search.toLowerCase().split(/\s+/);
  const found = sessions?.filter((session) => {
    const text = `${session.title} ${session.worker} ${session.cwd} ${session.id} ${session.model}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const groups = [
    { title: "Waiting for you", sessions: found?.filter(({ approvals }) => approvals > 0) ?? [] },
    {
      title: "Working",
      sessions: found?.filter(({ approvals, state }) => approvals === 0 && isWorking(state)) ?? [],
    },
    { title: "Others", sessions: found?.filter(({ approvals, state }) => approvals === 0 && !isWorking(state)) ?? [] },
  ];
  return (
    <main className="sessions" tabIndex={0}>
      <h1 className="hidden">Sessions</h1>
      <NewSessionForm workers={workers} />
      <div className="list-head">
        <input
          type="search"
          aria-label="Search sessions"
          placeholder="Search by prompt, directory, model or id"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        <span className="dim">{countWords(sessions, found)}</span>
      </div>
      {sessions === undefined && link.state === "connecting" && <p className="dim empty">Loading…</p>}
      {sessions?.length === 0 && (
        <p className="dim empty">There are no sessions in this directory yet. Start one above.</p>
      )}
      {groups
        .filter((group) => group.sessions.length > 0)
        .map((group) => (
          <section key={group.title} aria-label={group.title}>
            <h2>{group.title}</h2>
            <ul className="rows">
              {group.sessions.map((session) => (
                <SessionRow key={session.id} session={session} showsWorker={workers.length > 1} />
              ))}
            </ul>
          </section>
        ))}
    </main>
  );
}

function isWorking(state: SessionInfo["state"]): boolean {
  return state === "running" || state === "waiting";
}

function countWords(all: readonly SessionInfo[] | undefined, found: readonly SessionInfo[] | undefined): string {
  if (all === undefined || found === undefined || all.length === 0) return "";
  return found.length === all.length ? plural(all.length, "session") : `${found.length} of ${all.length}`;
}

interface SessionRowProps {
  readonly session: SessionInfo;
  readonly showsWorker: boolean;
}

function SessionRow({ session, showsWorker }: SessionRowProps): ReactNode {
  const now = useNow();
  const { words, tone } = sessionState(session);
  return (
    <li>
      <a className="session-row" href={linkTo({ page: "session", id: session.id })}>
        <span className={`dot ${tone}`} aria-hidden="true" />
        <span className="title">{session.title ?? "No prompt yet"}</span>
        <span className="state">{words}</span>
        {showsWorker && <span className="worker dim">{session.worker}</span>}
        <span className="model dim">{session.model}</span>
        <span className="number dim">{session.turns > 0 ? plural(session.turns, "turn") : ""}</span>
        <span className="number dim" title={new Date(session.updatedAt).toLocaleString()}>
          {formatAge(now - session.updatedAt)}
        </span>
      </a>
    </li>
  );
}
