import type { AgentDefinition } from "../../protocol/index.ts";
import type { Place } from "../catalog/create-catalog.ts";
import { versionOf } from "./read-bounded.ts";
import type { LoadedAgent } from "./snapshot.ts";

interface FileContent {
  readonly definition: AgentDefinition;
  readonly place: Place;
  readonly bytes: Uint8Array;
  readonly body: () => string;
}

/** An agent from a file. Its version is made when somebody asks, from the bytes that are kept for the body anyway. */
export class FileAgent implements LoadedAgent {
  readonly definition: AgentDefinition;
  readonly place: Place;
  readonly body: () => string;
  readonly #bytes: Uint8Array;
  #version: string | undefined;

  constructor({ definition, place, bytes, body }: FileContent) {
    this.definition = definition;
    this.place = place;
    this.body = body;
    this.#bytes = bytes;
  }

  get version(): string {
    this.#version ??= versionOf(this.#bytes);
    return this.#version;
  }
}
