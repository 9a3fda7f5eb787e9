import type { SessionSummary } from "../../../app/index.ts";
import { renderTable } from "../listing.ts";

export interface ListView {
  /** Of every directory, so that it must be said which. */
  readonly all: boolean;
  readonly now: number;
  /** 0: as wide as it gets. */
  readonly columns: number;
}

/** A table, newest first; the prompt stands last and takes what room is left. */
export function renderSessions(sessions: readonly SessionSummary[], { all, now, columns }: ListView): string {
  const head = ["SESSION", "WHEN", "STATE", "TURNS", ...(all ? ["DIRECTORY"] : []), "PROMPT"];
  const rows = sessions.map((session) => [
    session.id,
    ago(now - session.updatedAt),
    stateOf(session),
    String(session.turns),
    ...(all ? [session.cwd ?? session.project] : []),
    session.firstPrompt ?? session.damaged ?? "",
  ]);
  return renderTable([head, ...rows], columns);
}

function stateOf({ inUse, damaged, lastOutcome }: SessionSummary): string {
  if (damaged !== undefined) return "damaged";
  if (inUse) return "running";
  return lastOutcome ?? "cut off";
}

export function ago(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.floor(hours / 24)} days ago`;
}
