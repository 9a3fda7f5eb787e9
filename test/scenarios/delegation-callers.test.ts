import { describe, expect, it } from "vitest";
import { lastWords, resultsIn, task, walk } from "./delegation-place.ts";

const message = (to: string) => ({ name: "SendMessage", input: { to, message: "PEER: go on" } });

describe("an agent with a name that may not delegate", () => {
  it("speaks to agents that run, and wakes none that has ended", async () => {
    let finish = () => {};
    const later = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { model, result } = await walk({
      MAIN: [
        { calls: [task("ENDED: be quick", { name: "ended" })] },
        {
          calls: [
            task("BUSY: take your time", { name: "busy", run_in_background: true }),
            task("SPEAKER: tell them", { name: "speaker" }),
          ],
        },
        { text: "So it is." },
        { text: "And told." },
      ],
      ENDED: [{ text: "Done." }, { text: "never asked" }],
      BUSY: [{ text: "Heard.", after: later }, { text: "Heard it." }],
      SPEAKER: [
        { calls: [message("ended"), message("busy")] },
        () => {
          finish();
          return { text: "Told them." };
        },
      ],
    });
    expect(result.outcome).toBe("succeeded");
    expect(model.requests("ENDED")).toHaveLength(1);
    const [toEnded = "", toBusy = ""] = resultsIn(model.requests("SPEAKER")[1]);
    expect(toEnded).toMatch(/has ended.*only agents that may delegate/);
    expect(toBusy).toContain("will read it");
    expect(lastWords(model.requests("BUSY")[1])).toContain("PEER: go on");
  });
});
