import type { ModelProgress } from "../../ports/index.ts";
import { completeInput } from "../answer.ts";

export interface WireCall {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
}

export interface BegunCall {
  /** Its place among the calls of this answer. */
  readonly ordinal: number;
  readonly index: number | undefined;
  readonly id: string;
  name: string;
  json: string;
}

/** Puts calls together from fragments; also from servers that send them whole, without an id or an index. */
export function createCallCollector(emit: (progress: ModelProgress) => void): {
  take(wire: WireCall): void;
  calls(): readonly BegunCall[];
} {
  const begun: BegunCall[] = [];
  return {
    take(wire) {
      const name = wire.function?.name ?? "";
      const fragment = fragmentOf(wire.function?.arguments);
      let call = continued(begun, wire, name);
      if (call === undefined) {
        call = { ordinal: begun.length, index: wire.index ?? undefined, id: wire.id ?? "", name, json: "" };
        begun.push(call);
        emit({ type: "call.delta", index: call.ordinal, name, json: "" });
      }
      if (call.name === "") call.name = name;
      if (fragment === "") return;
      call.json += fragment;
      emit({ type: "call.delta", index: call.ordinal, name: call.name, json: fragment });
    },
    calls: () => begun,
  };
}

/** The call this fragment belongs to; undefined when it begins one. */
function continued(begun: readonly BegunCall[], wire: WireCall, name: string): BegunCall | undefined {
  const candidate = typeof wire.index === "number" ? begun.findLast((call) => call.index === wire.index) : begun.at(-1);
  if (candidate === undefined || name === "") return candidate;
  // Some servers give every call index 0, others repeat name and id with each fragment.
  if (wire.id) return wire.id === candidate.id ? candidate : undefined;
  if (candidate.name === "") return candidate;
  return completeInput(candidate.json, false) === undefined ? candidate : undefined;
}

function fragmentOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : "";
}
