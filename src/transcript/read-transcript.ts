import { readFileSync } from "node:fs";
import { describeError, UserError } from "../lib/index.ts";
import type { Line } from "../protocol/index.ts";
import { type Problem, parseTranscript } from "./parse-transcript.ts";

export interface ReadTranscript {
  readonly lines: readonly Line[];
  readonly problems: readonly Problem[];
}

/** For looking only: takes no lock and repairs nothing, so a session may go on writing meanwhile. */
export function readTranscript(path: string): ReadTranscript {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new UserError(`The transcript ${path} can't be read: ${describeError(error)}`, {
      code: "transcript",
      cause: error,
    });
  }
  const { lines, problems } = parseTranscript(bytes, path);
  return { lines, problems };
}
