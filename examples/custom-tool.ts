// Two tools that use the program's own data: one reads, and one makes changes, which the program approves.
import { type Approvals, defineTool, openSession } from "retinue";
import { z } from "zod";

const stock = new Map([
  ["pear", 7],
  ["plum", 0],
]);
const product = z.string().describe("Name of the product, in the singular.");
const count = defineTool({
  name: "count",
  description: "Returns how many units of a product are in stock.",
  input: z.object({ product }),
  access: "none",
  run: ({ product }) => stock.get(product) ?? 0,
});
const order = defineTool({
  name: "order",
  description: "Orders units of a product.",
  input: z.object({ product, pieces: z.number().int().min(1) }),
  run: ({ product, pieces }) => {
    stock.set(product, (stock.get(product) ?? 0) + pieces);
    return `Ordered ${pieces}.`;
  },
});
const approvals: Approvals = {
  ask: async ({ call }) => {
    console.log(`approve? ${call.name} ${call.inputJson}`);
    return { answer: JSON.parse(call.inputJson).pieces <= 10 ? "allow" : "deny", by: "the program" };
  },
};
await using session = await openSession({ tools: [count, order], approvals });
const { text } = await session.prompt("If there are fewer than five plums, order enough to have five.").result;
console.log(text);
console.log(stock.get("plum"));
