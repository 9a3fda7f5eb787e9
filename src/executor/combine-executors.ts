import { resolve } from "node:path";
import type { ExecuteRequest, ToolExecutor } from "../ports/index.ts";
import {
  canonicalToolName,
  type InputPath,
  isAddress,
  type ToolCall,
  type ToolDeclaration,
} from "../protocol/index.ts";

export interface CombinedTools {
  /**
   * If several executors declare a tool, the last one performs its calls. The first executor performs calls to unknown
   * tools.
   */
  readonly executors: readonly [ToolExecutor, ...ToolExecutor[]];
  /**
   * Names of tools, in the order in which to declare them. Tools that are not listed follow, in the order of their
   * executors.
   */
  readonly order?: readonly string[] | undefined;
  /** If absent, paths are not checked for addresses. */
  readonly addresses?: AddressRoute | undefined;
}

/** Route for Read and Grep calls whose path is an address. */
export interface AddressRoute {
  /** One of the combined executors. */
  readonly executor: ToolExecutor;
  /** Returns the address of the text stored at a path, or undefined if no text is stored there. */
  readonly addressOf: (path: string) => string | undefined;
}

/** Combines executors into one that passes each call on to the executor that declares its tool. */
export function combineExecutors({ executors, order = [], addresses }: CombinedTools): ToolExecutor {
  const [first] = executors;
  const owners = new Map<string, ToolExecutor>();
  const declared = new Map<string, ToolDeclaration>();
  for (const executor of executors) {
    for (const declaration of executor.declarations()) {
      // A tool that is declared again moves to the end.
      declared.delete(declaration.name);
      declared.set(declaration.name, declaration);
      owners.set(declaration.name, executor);
    }
  }
  const names = new Set([...order.filter((name) => declared.has(name)), ...declared.keys()]);
  const declarations = [...names].flatMap((name) => declared.get(name) ?? []);
  const ownerOf = (toolName: string): ToolExecutor => owners.get(canonicalToolName(toolName)) ?? first;
  // An executor recognizes a call that it has judged, so the same call must have the same route again.
  const routes = new WeakMap<ToolCall, Route>();
  const route = (call: ToolCall): Route => {
    const known = routes.get(call);
    if (known !== undefined) return known;
    const addressed = addresses && addressedCall(call, addresses.addressOf);
    const found = addressed ? { executor: addresses.executor, ...addressed } : { executor: ownerOf(call.name), call };
    routes.set(call, found);
    return found;
  };
  return {
    declarations: () => declarations,
    traits: (toolName) => ownerOf(toolName).traits(toolName),
    judge: async (call, policy, agentId) => {
      const routed = route(call);
      const judgment = await routed.executor.judge(routed.call, policy, agentId);
      return judgment.kind === "decided" && routed.path ? { ...judgment, paths: [routed.path] } : judgment;
    },
    execute: (request, emit, signal) => {
      const { executor, call } = route(request.call);
      return executor.execute(call === request.call ? request : withCall(request, call), emit, signal);
    },
    recall: async (call) => {
      const routed = route(call);
      return (await routed.executor.recall?.(routed.call)) ?? "lost";
    },
    inherit: (agentId, from) => {
      for (const executor of executors) executor.inherit?.(agentId, from);
    },
    release: async (agentId) => {
      await Promise.all(executors.map((executor) => executor.release(agentId)));
    },
    close: async () => {
      await Promise.all(executors.map((executor) => executor.close()));
    },
  };
}

/** Tools that accept addresses, and for each the input property that contains the address. */
const addressInputs: Readonly<Record<string, string>> = { Read: "file_path", Grep: "path" };

interface AddressedCall {
  readonly call: ToolCall;
  /** Path that was replaced by an address. */
  readonly path?: InputPath;
}

interface Route extends AddressedCall {
  readonly executor: ToolExecutor;
}

/** Returns the call with an address, if its path is one or can be replaced by one; otherwise undefined. */
function addressedCall(call: ToolCall, addressOf: AddressRoute["addressOf"]): AddressedCall | undefined {
  const name = addressInputs[canonicalToolName(call.name)];
  const input = name === undefined ? undefined : parseInput(call.inputJson);
  const path = name === undefined ? undefined : input?.[name];
  if (name === undefined || typeof path !== "string") return undefined;
  if (isAddress(path)) return { call };
  const address = addressOf(path);
  if (address === undefined) return undefined;
  const absolute = resolve(path);
  return {
    call: { ...call, inputJson: JSON.stringify({ ...input, [name]: address }) },
    path: { property: name, requested: path, absolute, real: absolute },
  };
}

function parseInput(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return Object(JSON.parse(json));
  } catch {
    return undefined;
  }
}

/**
 * Returns the request with a changed call. If the original call was approved, the approval applies to the changed one
 * too.
 */
function withCall({ call: before, grant, ...request }: ExecuteRequest, call: ToolCall): ExecuteRequest {
  const isGranted = grant?.inputJson === before.inputJson;
  return { ...request, call, grant: isGranted ? { ...grant, inputJson: call.inputJson } : grant };
}
