// A program that sends requests to an address simultaneously and prints the result of each. It exits when all
// connections are closed. Run by connections.test.ts: send-requests.test-support.ts URL COUNT
import { createConnections } from "./connections.ts";

const [address = "", count = ""] = process.argv.slice(2);
const url = new URL(address);
const connector = await createConnections().to(url);
const outcomes = await Promise.all(Array.from({ length: Number(count) }, send));
process.stdout.write(JSON.stringify(outcomes));

function send(): Promise<string> {
  return new Promise((resolve) => {
    let status = 0;
    connector.send(
      { method: "GET", url, headers: {}, body: [] },
      {
        began() {},
        sent() {},
        head(head) {
          status = head.status;
        },
        data() {},
        end: (isComplete) => resolve(isComplete ? `status ${status}` : "cut"),
        failed: ({ code }) => resolve(String(code)),
      },
    );
  });
}
