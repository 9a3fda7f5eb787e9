import { expect, it } from "vitest";
import { createDeferred } from "./deferred.ts";

it("is settled from outside, once", async () => {
  const answered = createDeferred<number>();
  answered.resolve(1);
  answered.resolve(2);
  answered.reject(new Error("too late"));
  expect(await answered.promise).toBe(1);
});

it("passes on a rejection", async () => {
  const failed = createDeferred();
  failed.reject(new Error("no"));
  await expect(failed.promise).rejects.toThrow("no");
});
