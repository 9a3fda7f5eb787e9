import { readFileSync } from "node:fs";
import type { AddressedTexts, ResultStore } from "../../ports/index.ts";
import { resultAddress } from "../../protocol/index.ts";

export interface TestTexts extends ResultStore, AddressedTexts {
  /** Stored text by address. */
  readonly texts: Map<string, string | Uint8Array>;
}

/** Creates a store of results in memory. Text is read in chunks of the given size. */
export function createTestTexts({ chunkBytes = 1_000_000 }: { readonly chunkBytes?: number } = {}): TestTexts {
  const texts = new Map<string, string | Uint8Array>();
  const save = (id: string, text: string | Uint8Array): string => {
    texts.set(resultAddress(id), text);
    return resultAddress(id);
  };
  return {
    texts,
    save: async (id, text) => save(id, text),
    saveFile: async (id, path) => save(id, readFileSync(path, "utf8")),
    read: async (address) => {
      const text = texts.get(address);
      return text === undefined ? undefined : chunksOf(Buffer.from(text as string), chunkBytes);
    },
  };
}

async function* chunksOf(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}
