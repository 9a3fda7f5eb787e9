import type { Encoding } from "../shared/text-encoding.ts";

/** What reading the whole of a file has shown: a long one is read in parts, and by many agents. */
export interface KnownText {
  readonly version: string;
  readonly encoding: Encoding;
  /** Lines it has. */
  readonly total: number;
}

export interface KnownTexts {
  of(path: string): KnownText | undefined;
  remember(path: string, text: KnownText): void;
}

const MOST_FILES = 1_000;

export function createKnownTexts(): KnownTexts {
  const texts = new Map<string, KnownText>();
  return {
    of: (path) => texts.get(path),
    remember: (path, text) => {
      if (texts.size >= MOST_FILES) texts.clear();
      texts.set(path, text);
    },
  };
}
