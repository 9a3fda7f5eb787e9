import { type ReactNode, useState } from "react";
import { formatCount, plural } from "../../lib/portable.ts";
import { linkTo } from "../state/route.ts";
import type { SessionState } from "./session-store.ts";

/** Says what is happening while a session is loading, how much has loaded, and what the user can do. */
export function LoadingSession({ state: { link, progress } }: { readonly state: SessionState }): ReactNode {
  const { events = 0, agents = 0, allAgents } = progress ?? {};
  return (
    <div className="loading">
      <div role="status">
        <h2>{link.state === "lost" ? "Waiting for the connection" : "Loading the session"}</h2>
        <p>
          {allAgents !== undefined
            ? `${formatCount(agents)} of ${plural(allAgents, "agent")} loaded.`
            : events > 0
              ? `The server is reading the transcripts: ${plural(events, "event")} so far.`
              : link.state === "connected"
                ? "The server is reading the transcripts."
                : "Connecting to the server."}
        </p>
      </div>
      {allAgents !== undefined && <progress aria-label="Agents loaded" value={agents} max={Math.max(1, allAgents)} />}
      <p className="dim">
        {link.state === "lost"
          ? "Loading continues as soon as the server can be reached."
          : "You can already write a message."}{" "}
        <a href={linkTo({ page: "sessions" })}>Show the other sessions</a>
      </p>
    </div>
  );
}

/** Shows what is wrong with a session's files, and notices about the session. */
export function SessionNotes({ state: { view, info } }: { readonly state: SessionState }): ReactNode {
  const { detail, notices = [] } = info ?? {};
  // A parked session's detail is about its worker.
  const damage = info?.state === "parked" ? undefined : detail;
  const notes = [damage === undefined ? detail : undefined, ...notices].filter((note) => note);
  const isDamaged = damage !== undefined || view.skipped > 0;
  if (!isDamaged && notes.length === 0) return null;
  return (
    <div className="session-notes">
      {isDamaged && <Damage skipped={view.skipped} detail={damage} />}
      {notes.length > 0 && <Notes text={notes.join(" ")} />}
    </div>
  );
}

interface DamageProps {
  /** Number of events that can't be shown. */
  readonly skipped: number;
  /** What is wrong with the session's file. */
  readonly detail: string | undefined;
}

/** Says which part of a session can't be read, what that means, and what to do. */
function Damage({ skipped, detail }: DamageProps): ReactNode {
  return (
    <div className="damage" role="status">
      <span className="mark" aria-hidden="true">
        !
      </span>
      <p>
        <b>Part of this session can't be read.</b> {detail}{" "}
        {skipped > 0 &&
          `${plural(skipped, "recorded event")} could not be read and ${skipped === 1 ? "is" : "are"} missing below. `}
        Everything else is shown. Restore the session's file from a backup, or continue with what is there; agents may
        repeat work whose record is lost.
      </p>
    </div>
  );
}

/** Shows notices about the session, on one line until the user opens them. */
function Notes({ text }: { readonly text: string }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div className={`link-note calm notes${isOpen ? " open" : ""}`} role="status">
      <p>{text}</p>
      <button type="button" className="quiet" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        {isOpen ? "Less" : "More"}
      </button>
    </div>
  );
}
