/** Files of the small repository that the examples run in. */
export const repository: Readonly<Record<string, string>> = {
  ".gitignore": "node_modules\n.env\n",
  ".env": "PAYMENT_PASSWORD=not-a-real-one\n",
  "README.md": "# Shop\n\nA cart, its prices and a command to try them.\n",
  "package.json": `${JSON.stringify(
    {
      name: "shop",
      version: "1.0.0",
      description: "A cart and its prices",
      type: "module",
      main: "src/index.js",
      scripts: { start: "node src/index.js", test: "node --test" },
    },
    null,
    2,
  )}\n`,
  "src/index.js":
    'import { createCart } from "./cart.js";\n\nconst cart = createCart();\ncart.add("tea", 3);\nconsole.log(cart.total());\n',
  "src/cart.js": `import { priceOf } from "./price.js";

/** Things somebody wants to buy. */
export function createCart() {
  const items = new Map();
  return {
    add: (name, count) => items.set(name, (items.get(name) ?? 0) + count),
    total: () => [...items].reduce((sum, [name, count]) => sum + count * priceOf(name), 0),
  };
}
`,
  "src/price.js": `const prices = { tea: 4, cake: 6 };

// TODO: discounts
export function priceOf(name) {
  return prices[name] ?? 0;
}
`,
  "test/cart.test.js": `import assert from "node:assert/strict";
import { test } from "node:test";
import { createCart } from "../src/cart.js";

test("adds up", () => {
  const cart = createCart();
  cart.add("tea", 2);
  assert.equal(cart.total(), 8);
});
`,
};
