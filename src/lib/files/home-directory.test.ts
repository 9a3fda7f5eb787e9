import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { homeDirectory } from "./home-directory.ts";

it("the home directory is HOME if it is an absolute path", () => {
  expect(homeDirectory({ HOME: "/home/someone" })).toBe("/home/someone");
});

it.each([undefined, "", ".", "project"])("the home directory is never relative: %j", (HOME) => {
  expect(homeDirectory({ HOME })).toBe(userInfo().homedir);
});
