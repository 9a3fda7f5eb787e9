import { expect, it } from "vitest";
import type { DurableEvent } from "../../protocol/index.ts";
import { line, told } from "../progress/agent-events.test-support.ts";
import { createNoticeTeller } from "./tell-notices.ts";

it("tells each sentence once, with the agent where the sentence does not name it", () => {
  const said: string[] = [];
  const { see, isTold } = createNoticeTeller((sentence) => said.push(sentence));
  const notice = (code: string, message: string): DurableEvent => ({ type: "notice.raised", code, message });
  const warning = notice("budget", "The session has used 80 %.");
  see(line(warning));
  see(told(["a1"], warning));
  for (const id of ["a1", "a2"]) see(told([id], notice("agent", "Its model is not there.")));
  see(line({ type: "head.set", hash: "h" }));
  expect(said).toEqual(["The session has used 80 %.", "Explore: Its model is not there."]);
  expect([isTold("The session has used 80 %."), isTold("Another.")]).toEqual([true, false]);
});
