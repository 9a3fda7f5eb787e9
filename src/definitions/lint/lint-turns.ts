import type { AgentDefinition } from "../../protocol/index.ts";
import type { Finding } from "./finding.ts";

interface Kind {
  readonly kind: string;
  readonly words: RegExp;
  readonly from: number;
  readonly to: number;
}

/** Most turns first, so that "search and refactor" is judged by its larger half. */
const kinds: readonly Kind[] = [
  { kind: "refactoring", words: /\b(?:refactor|migrat|moderni[sz]|restructur|upgrad)/i, from: 30, to: 50 },
  { kind: "generation", words: /\b(?:generat|creat|writ|implement|build|develop|scaffold)/i, from: 20, to: 30 },
  {
    kind: "exploration",
    words: /\b(?:explor|analy[sz]|investigat|understand|review|audit|research)/i,
    from: 15,
    to: 20,
  },
  { kind: "search", words: /\b(?:search|find|look up|locat|grep)/i, from: 10, to: 15 },
];

/** In the background nobody sees an agent go round in circles, so fewer turns are usual. */
const backgroundShare = 0.5;

export function lintTurns({ name, description, maxTurns, background }: AgentDefinition): Finding[] {
  if (maxTurns === undefined) return [];
  const kind = kinds.find(({ words }) => words.test(`${name} ${description}`));
  if (kind === undefined) return [];
  const from = background === true ? Math.ceil(kind.from * backgroundShare) : kind.from;
  if (maxTurns >= from && maxTurns <= kind.to) return [];
  return [
    {
      code: "unusual_turns",
      message: `maxTurns is ${maxTurns}; for ${kind.kind} ${from} to ${kind.to} are usual${background === true ? " in the background" : ""}.`,
      fix: `Write a number from ${from} to ${kind.to}, unless you measured that it needs ${maxTurns < from ? "fewer" : "more"}.`,
    },
  ];
}
