import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { isWithin } from "../../lib/index.ts";
import type { AddressedTexts } from "../../ports/index.ts";
import { outputAddress, parseAddress, resultAddress } from "../../protocol/index.ts";
import { type Dispatcher, renderOutput } from "../../runs/index.ts";
import type { Transcript } from "../../transcript/index.ts";

/** Provides the text that a session's agents can read by address: saved results and subagents' output. */
export function createSessionTexts(transcript: Transcript, { registry }: Dispatcher): AddressedTexts {
  return {
    async read(address) {
      const parsed = parseAddress(address);
      if (parsed?.kind === "result") return transcript.results.read(address);
      if (parsed === undefined || (await registry.get(parsed.agentId)) === undefined) return undefined;
      return linesAsText(transcript, parsed.agentId);
    },
  };
}

async function* linesAsText(transcript: Transcript, agentId: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(renderOutput(await transcript.read(agentId)));
}

/**
 * Returns a function that converts the path of a file with a result or output to its address. In sessions from earlier
 * versions, models refer to this text by path. `transcriptPath` is the session's transcript.
 */
export function addressesOfFiles(transcriptPath: string | undefined): (path: string) => string | undefined {
  if (transcriptPath === undefined) return () => undefined;
  const directory = transcriptPath.replace(/\.jsonl$/, "");
  let places: readonly string[] | undefined;
  return (path) => {
    // Tests the name first, because this is called for all files that are read.
    if (!/\.(txt|output)$/.test(path)) return undefined;
    places ??= [directory, realPath(directory)];
    const absolute = resolve(path);
    const place = places.find((each) => isWithin(absolute, each));
    const file = place === undefined ? "" : absolute.slice(place.length + 1);
    const [, result] = /^(?:results\/)?([\w-]{1,80})\.txt$/.exec(file) ?? [];
    if (result !== undefined) return resultAddress(result);
    const [, agentId] = /^subagents\/agent-([\w-]{1,64})\.output$/.exec(file) ?? [];
    return agentId === undefined ? undefined : outputAddress(agentId);
  };
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
