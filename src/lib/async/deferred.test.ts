import { expect, it } from "vitest";
import { createDeferred } from "./deferred.ts";

it("a deferred promise is settled once, from outside", async () => {
  const answered = createDeferred<number>();
  answered.resolve(1);
  answered.resolve(2);
  answered.reject(new Error("too late"));
  expect(await answered.promise).toBe(1);
});

it("a deferred promise can be rejected", async () => {
  const failed = createDeferred();
  failed.reject(new Error("no"));
  await expect(failed.promise).rejects.toThrow("no");
});
