import { expect, it } from "vitest";
import { withoutPaths } from "./without-paths.ts";

const directories = [
  { name: "the state directory", root: "/home/u/.retinue" },
  { name: "shop", root: "/home/u/shop" },
];

it.each([
  ["/home/u/.retinue/projects/x is damaged.", "projects/x in the state directory is damaged."],
  [
    "Permission denied at /home/u/.retinue/a/b.jsonl: check it.",
    "Permission denied at a/b.jsonl in the state directory: check it.",
  ],
  ['Can\'t read "/home/u/shop".', 'Can\'t read "shop".'],
  ["/home/u/shop: no such file", "shop: no such file"],
  ["No such file: /home/u/shop.", "No such file: shop."],
  ["/home/u/shop-old and /home/u/shop.git", "/home/u/shop-old and /home/u/shop.git"],
  ["/mnt/home/u/shop", "/mnt/home/u/shop"],
])("replaces directories with their names: %s", (message, expected) => {
  expect(withoutPaths(message, directories)).toBe(expected);
});
