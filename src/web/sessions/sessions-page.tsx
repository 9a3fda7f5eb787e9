import { type ReactNode, useState } from "react";
import { plural } from "../../lib/portable.ts";
import type { SessionInfo } from "../../protocol/index.ts";
import { AT_MOST, formatAgo, formatCost } from "../parts/format.ts";
import { useNow } from "../state/clock.ts";
import { linkTo } from "../state/route.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { DeleteSession } from "./delete-session.tsx";
import { modelsOf } from "./models-of.ts";
import { NewSessionForm } from "./new-session-form.tsx";
import { sessionState } from "./session-state.ts";

/** Lists the server's sessions, those that are waiting for an answer first, and starts new ones. */
export function SessionsPage(): ReactNode {
  const { sessions, workers, link } = useStore(useServer().store);
  const [search, setSearch] = useState("");
  const words = search.toLowerCase().split(/\s+/);
  const found = sessions?.filter((session) => {
    const text = `${session.title} ${session.worker} ${session.cwd} ${session.id} ${session.model}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <main className="sessions" tabIndex={0}>
      <h1 className="hidden">Sessions</h1>
      <NewSessionForm workers={workers} models={modelsOf(sessions ?? [])} />
      {sessions !== undefined && sessions.length > 0 && (
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
      )}
      {sessions === undefined && link.state === "connecting" && <p className="dim empty">Loading…</p>}
      {sessions?.length === 0 && <p className="dim empty">There are no sessions yet. Write a prompt to start one.</p>}
      {sessions !== undefined && sessions.length > 0 && found?.length === 0 && (
        <p className="empty no-match" role="status">
          <span>
            No session matches <b>{search.trim()}</b>.
          </span>
          <button type="button" onClick={() => setSearch("")}>
            Clear the search
          </button>
        </p>
      )}
      {found !== undefined && found.length > 0 && <SessionTable sessions={found} />}
    </main>
  );
}

function SessionTable({ sessions }: { readonly sessions: readonly SessionInfo[] }): ReactNode {
  const groups = [
    { title: "Waiting for you", members: sessions.filter(({ approvals }) => approvals > 0) },
    { title: "Working", members: sessions.filter((each) => each.approvals === 0 && isWorking(each)) },
    { title: "Others", members: sessions.filter((each) => each.approvals === 0 && !isWorking(each)) },
  ].filter(({ members }) => members.length > 0);
  return (
    <table className="session-table">
      <thead>
        <tr>
          <th scope="col">Task</th>
          <th scope="col">State</th>
          <th scope="col">Project</th>
          <th scope="col" className="wide">
            Model
          </th>
          <th scope="col" className="wide number">
            Turns
          </th>
          <th scope="col" className="number">
            Cost
          </th>
          <th scope="col" className="number">
            Last used
          </th>
          <th scope="col">
            <span className="hidden">Actions</span>
          </th>
        </tr>
      </thead>
      {groups.map(({ title, members }) => (
        <tbody key={title}>
          <tr className="group">
            <th scope="rowgroup" colSpan={8}>
              {title} <span className="count">{members.length}</span>
            </th>
          </tr>
          {members.map((session) => (
            <SessionRow key={session.id} session={session} />
          ))}
        </tbody>
      ))}
    </table>
  );
}

function SessionRow({ session }: { readonly session: SessionInfo }): ReactNode {
  const now = useNow();
  const { words, tone } = sessionState(session);
  const {
    id,
    title = "No prompt yet",
    worker,
    cwd,
    model,
    turns,
    costUsd,
    updatedAt,
    elsewhere,
    isCostAtMost,
  } = session;
  return (
    <tr className="session-row">
      <td className="title">
        <span className="narrow-project dim" title={cwd}>
          {worker} /{" "}
        </span>
        <a href={linkTo({ page: "session", id })}>{title}</a>
      </td>
      <td className={`state ${tone}`}>
        <span className={`dot ${tone}`} aria-hidden="true" />
        <span className="words">{words}</span>
      </td>
      <td className="project dim" title={cwd}>
        {worker}
      </td>
      <td className="model dim wide">{model}</td>
      <td className="turns number dim wide">{turns > 0 ? turns : ""}</td>
      <td className="cost number dim" title={isCostAtMost && AT_MOST}>
        {costUsd === undefined ? "–" : formatCost(costUsd, isCostAtMost)}
      </td>
      <td className="age number dim" title={new Date(updatedAt).toLocaleString()}>
        {formatAgo(now - updatedAt)}
      </td>
      <td className="row-actions">{elsewhere !== true && <DeleteSession session={session} />}</td>
    </tr>
  );
}

function isWorking({ state }: SessionInfo): boolean {
  return state === "running" || state === "waiting";
}

function countWords(all: readonly SessionInfo[], found: readonly SessionInfo[] = all): string {
  return found.length === all.length ? plural(all.length, "session") : `${found.length} of ${all.length}`;
}
