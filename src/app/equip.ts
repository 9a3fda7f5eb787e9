import { lazyHands } from "../hands/index.ts";
import type { Hands } from "../ports/index.ts";
import type { Settings } from "../protocol/index.ts";
import { searchEngineFor, toolFaces } from "../tools/index.ts";
import type { Session as Transcript } from "../transcript/index.ts";
import type { ChosenModel } from "./choose-model.ts";
import type { Environment } from "./places.ts";

export interface Equipment {
  /** Absolute real path of the workspace. */
  readonly root: string;
  readonly transcript: Transcript;
  /** Where long outputs are kept whole. */
  readonly outputDirectory: string;
  readonly settings: Settings;
  readonly environment: Environment;
  readonly chosen: ChosenModel;
}

export interface Equipped {
  readonly hands: Hands;
  /** Tools that exist and are not there, and why. */
  readonly absent: readonly { readonly name: string; readonly reason: string }[];
}

/** The built-in tools on this workspace. */
export function equip({ root, transcript, outputDirectory, settings, environment, chosen }: Equipment): Equipped {
  const { sessionId, results } = transcript;
  const choice = searchEngineFor(settings.search, environment, chosen.search ? { anthropic: chosen.search } : {});
  const search = "engine" in choice ? { search: choice.engine } : {};
  const hands = lazyHands(toolFaces({ search: "engine" in choice }), async () => {
    const { makeHands } = await import("./make-hands.ts");
    return makeHands({ root, environment, sessionId, results, outputDirectory, ...search });
  });
  return { hands, absent: "absent" in choice ? [{ name: "WebSearch", reason: choice.absent }] : [] };
}
