import { expect, it } from "vitest";
import { noFacts } from "../../protocol/index.ts";
import { verdictOf } from "./verdict.ts";

const facts = { ...noFacts, commands: [{ command: "npm test", exitCode: 0 }] };

it.each([
  ["All holds.\nVERDICT: pass", "pass"],
  ["VERDICT: fail\n", "fail"],
  ["**VERDICT: PASS**", "pass"],
  ["- Verdict: fail.", "fail"],
  ["VERDICT: inconclusive", "inconclusive"],
  ["First I wrote\nVERDICT: pass\nbut then it broke.\nVERDICT: fail", "fail"],
  ["VERDICT: pass or fail", "inconclusive"],
  ["VERDICT: passable", "inconclusive"],
  ["The last line is VERDICT: pass", "inconclusive"],
  ["It looks fine.", "inconclusive"],
  ["", "inconclusive"],
])("%j is the verdict %s", (text, verdict) => {
  expect(verdictOf({ outcome: "succeeded", text, facts })).toBe(verdict);
});

it("the verdict is inconclusive if the verifier ran nothing or did not finish", () => {
  const text = "VERDICT: pass";
  expect(verdictOf({ outcome: "succeeded", text, facts: noFacts })).toBe("inconclusive");
  expect(verdictOf({ outcome: "incomplete", text, facts })).toBe("inconclusive");
});
