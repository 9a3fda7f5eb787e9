import { expect, it } from "vitest";
import { PART_CHARACTERS, type SavePart } from "./protocol.ts";
import { ResultTransfers } from "./result-transfer.ts";

const largest = "x".repeat(PART_CHARACTERS);

function receive() {
  const saved: [id: string, length: number][] = [];
  const transfers = new ResultTransfers({
    save: async (id, text) => {
      saved.push([id, text.length]);
      return `retinue://result/${id}`;
    },
    saveFile: () => Promise.reject(new Error("The file is on another machine.")),
  });
  const send = (part: Partial<SavePart>) =>
    transfers.save({ sessionId: "s", lease: 1, transfer: "t", id: "c", part: 0, isLast: false, text: "x", ...part });
  return { saved, send };
}

it("a transfer can have 1,024 parts, and one with more is refused", async () => {
  const { saved, send } = receive();
  for (let part = 0; part < 1_023; part += 1) await send({ part, text: largest });
  expect(await send({ part: 1_023, text: largest, isLast: true })).toEqual({ address: "retinue://result/c" });
  expect(saved).toEqual([["c", 1_024 * PART_CHARACTERS]]);
  for (let part = 0; part < 1_024; part += 1) await send({ transfer: "u", part });
  await expect(send({ transfer: "u", part: 1_024, isLast: true })).rejects.toThrow("more than 268,435,456 characters");
  expect(saved).toHaveLength(1);
});

it("a part that is too long or is not text is refused", async () => {
  const { send } = receive();
  await expect(send({ text: `${largest}x` })).rejects.toThrow("may have at most 262,144 characters");
  await expect(send({ text: 5 as never })).rejects.toThrow("may have at most 262,144 characters");
});

it("abandoned transfers are not counted", async () => {
  const { saved, send } = receive();
  const fill = async (transfer: string) => {
    for (let part = 0; part < 1_024; part += 1) await send({ transfer, part, text: largest });
  };
  await fill("a");
  await fill("b");
  await expect(send({ transfer: "c" })).rejects.toThrow("Too much text is being sent at the same time");
  // The text is too long, so the rest of it is not needed.
  await expect(send({ transfer: "a", part: 1_024 })).rejects.toThrow("more than");
  expect(await send({ transfer: "c", isLast: true })).toEqual({ address: "retinue://result/c" });
  // If there are more than 1,000 transfers at the same time, the oldest is abandoned.
  for (let count = 0; count < 1_000; count += 1) await send({ transfer: `d${count}`, text: "" });
  await fill("e");
  expect(saved).toEqual([["c", 1]]);
});

it("a part that arrives again is not added again", async () => {
  const { saved, send } = receive();
  expect(await send({ part: 0, text: "one " })).toEqual({ next: 1 });
  expect(await send({ part: 0, text: "one " })).toEqual({ next: 1 });
  expect(await send({ part: 1, text: "two", isLast: true })).toEqual({ address: "retinue://result/c" });
  expect(await send({ part: 1, text: "two", isLast: true })).toEqual({ address: "retinue://result/c" });
  expect(saved).toEqual([["c", 7]]);
});
