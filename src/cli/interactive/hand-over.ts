import { type Session, type SessionChoices, writeServedRecord } from "../../app/index.ts";
import { describeError } from "../../lib/index.ts";
import { MAIN_AGENT } from "../../protocol/index.ts";
import type { OwnServerFacts } from "../../terminal/index.ts";
import { findOwnServer, readOwnServer } from "../host/own-server.ts";

type Handed = Pick<Session, "id" | "cwd" | "model" | "transcriptPath">;

/** Says whether a session could continue on the user's server, and how to make that possible. Never rejects. */
export async function findServerFor({ cwd }: Pick<Handed, "cwd">, home: string): Promise<OwnServerFacts> {
  const found = await findOwnServer(home, cwd).catch(() => undefined);
  if (found?.serves) return { url: found.url, isRunning: true, advice: "" };
  const advice =
    found === undefined
      ? `To let agents continue without a terminal, run \`retinue serve --project ${cwd}\` in another terminal, then quit again.`
      : `The server ${found.url} does not serve this directory. To let agents continue without a terminal, restart it with \`--project ${cwd}\`, then quit again.`;
  return { url: found?.url ?? "", isRunning: false, advice };
}

/**
 * Lets the user's server continue a parked session, with the same model and limits. Returns a message for the user if
 * it does not continue. Never rejects.
 */
export async function handOver(
  { id, model, transcriptPath }: Handed,
  { home, choices }: { readonly home: string; readonly choices: SessionChoices },
): Promise<string | undefined> {
  const own = readOwnServer(home);
  const resume = "The agents continue when you resume the session.";
  if (own === undefined || transcriptPath === undefined) return `The server is no longer running. ${resume}`;
  try {
    const { createClient } = await import("../../client/index.ts");
    const session = createClient(own).sessions.open(id);
    await writeServedRecord(transcriptPath, {
      v: 1,
      choices: { ...choices, model: `${model.provider}/${model.model}` },
      open: true,
    });
    const receipt = await session.resume(MAIN_AGENT);
    return receipt.status === "done"
      ? undefined
      : `The server did not continue the session: ${receipt.message} ${resume}`;
  } catch (error) {
    return `The server did not continue the session: ${describeError(error)} ${resume}`;
  }
}
