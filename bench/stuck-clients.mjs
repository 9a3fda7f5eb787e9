// Opens connections to a session's event stream, and never reads from them. Prints when all are open. Runs until it is
// killed. Usage: node bench/stuck-clients.mjs COUNT URL TOKEN SESSION

import { connect } from "node:net";

const [count, url, token, session] = process.argv.slice(2);
const { hostname, port, host } = new URL(url);
let connected = 0;
const report = () => process.stdout.write(`${connected} connected\n`);
if (Number(count) === 0) report();
for (let index = 0; index < Number(count); index += 1) {
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.pause();
  socket.once("connect", () => {
    connected += 1;
    if (connected === Number(count)) report();
  });
  socket.write(`GET /session/${session}/event HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
}
setInterval(() => {}, 60_000);
