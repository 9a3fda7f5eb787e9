import { describe, expect, it } from "vitest";
import { subagentFor } from "../../agents/resolve/subagent.test-support.ts";
import type { Head } from "../../protocol/index.ts";
import { createHeadCache } from "./prepare.ts";

const headFor = (prompt: string): Head => subagentFor({}, { prompt }).agent.head;

describe("createHeadCache", () => {
  it("maps equal heads to one object", () => {
    const share = createHeadCache();
    const first = share(headFor("Test."));
    expect(share(headFor("Test."))).toBe(first);
  });

  it("keeps heads apart that differ", () => {
    const share = createHeadCache();
    const [first, other] = [headFor("Test."), headFor("Test!")];
    expect([share(first), share(other)]).toEqual([first, other]);
  });

  it("forgets the heads that were used longest ago", () => {
    const share = createHeadCache();
    const [used, unused] = [share(headFor("used")), share(headFor("unused"))];
    for (let count = 0; count < 63; count += 1) {
      share(headFor(`other ${count}`));
      share(headFor("used"));
    }
    expect(share(headFor("used"))).toBe(used);
    expect(share(headFor("unused"))).not.toBe(unused);
  });
});
