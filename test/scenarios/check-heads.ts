import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Session } from "../../src/app/index.ts";
import { Chain } from "../../src/conversation/index.ts";
import type { Head, Line } from "../../src/protocol/index.ts";
import type { RecordedRequest } from "../../src/testing/index.ts";
import { unmarked } from "./fork-place.ts";

/**
 * Checks that each head in the main agent's transcript has a reason that applies, and that its requests were sent with
 * these heads in this order, so that the head never changed without a line that says why.
 */
export function expectRecordedHeads(
  { transcriptPath = "" }: Pick<Session, "transcriptPath">,
  requests: readonly RecordedRequest[],
): void {
  const lines = readFileSync(transcriptPath, "utf8")
    .trim()
    .split("\n")
    .map((line): Line => JSON.parse(line));
  const sent = requests.map((request) => headIn(unmarked(request)));
  const recorded = headsIn(lines, join(transcriptPath.replace(/\.jsonl$/, ""), "heads"));
  let index = 0;
  for (const head of sent) {
    while (index < recorded.length && recorded[index] !== head) index += 1;
    expect(recorded[index] === head).toBe(true);
  }
}

/** Returns the heads that were in force, oldest first. Checks the reason for each of them. */
function headsIn(lines: readonly Line[], directory: string): readonly string[] {
  const texts: string[] = [];
  const headAt = new Map<string, Head | undefined>();
  let current: Head | undefined;
  let hasAnswer = false;
  let isNewHead = false;
  let told: string | undefined;
  const toldAt = new Map<string, string | undefined>();
  const answeredAt = new Map<string, boolean>();
  for (const [index, line] of lines.entries()) {
    if (line.type === "model.requested") hasAnswer = true;
    if (line.type === "model.requested") isNewHead = false;
    if (line.type === "run.started") {
      headAt.set(line.id, current);
      toldAt.set(line.id, told);
      answeredAt.set(line.id, hasAnswer);
    }
    if (line.type === "conversation.rewound") {
      current = headAt.get(line.line);
      told = toldAt.get(line.line);
      hasAnswer = answeredAt.get(line.line) === true;
    }
    if (line.type === "run.ended") isNewHead = false;
    if (line.type === "conversation.compacted") told = undefined;
    if (line.type === "context.added" && line.cause === "changes") {
      // A new head contains all changes, and no change is told twice.
      expect([isNewHead, line.head === told]).toEqual([false, false]);
      told = line.head;
    }
    if (line.type === "head.set") {
      isNewHead = line.reason !== "settings";
      if (isNewHead) told = undefined;
      const head: Head = JSON.parse(readFileSync(join(directory, `${line.hash}.json`), "utf8"));
      const isSameModel = head.provider === current?.provider && head.model === current.model;
      const isCompacted = lines[index - 1]?.type === "conversation.compacted";
      const isSameText = current !== undefined && contentOf(head) === contentOf(current);
      const reason = !hasAnswer
        ? "start"
        : isCompacted
          ? "compaction"
          : !isSameModel
            ? "model"
            : isSameText
              ? "settings"
              : "none";
      expect(line.reason).toBe(reason);
      current = head;
    }
    if (current !== undefined && (line.type === "head.set" || line.type === "conversation.rewound"))
      texts.push(headIn(textOf(current)));
  }
  return texts;
}

function contentOf({ tools, system, systemContext, userContext }: Head): string {
  return JSON.stringify([tools, system, systemContext, userContext]);
}

function textOf(head: Head): string {
  const chain = new Chain(head);
  chain.append({ role: "user", content: [{ type: "text", text: "" }] });
  const rawBody = Buffer.concat(
    chain
      .request()
      .body(head.dialect, 1)
      .map((piece) => Buffer.from(piece)),
  );
  return unmarked({ rawBody });
}

/** Returns the part of a request that precedes its messages. */
function headIn(body: string): string {
  return body.slice(0, body.search(/,"(?:messages|input|contents)":\[\{"role"/));
}
