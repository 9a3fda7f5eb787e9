import { readFileSync } from "node:fs";

/**
 * Paths of the Unix sockets at which programs of this machine take connections or messages. A read-only file system does
 * not keep anybody from talking to them, and some (docker, agents that hold keys) do whatever they are told.
 */
export function openSockets(): readonly string[] {
  let table: string;
  try {
    table = readFileSync("/proc/net/unix", "utf8");
  } catch {
    return [];
  }
  const paths = table.split("\n").flatMap((line) => {
    const [, flags = "", type = "", path = ""] = /^\S+ \S+ \S+ (\S+) (\S+) \S+ +\d+ (\/.*)$/.exec(line) ?? [];
    const accepts = (Number.parseInt(flags, 16) & ACCEPTS_CONNECTIONS) !== 0 || type === DATAGRAM;
    return accepts ? [path] : [];
  });
  return [...new Set(paths)];
}

const ACCEPTS_CONNECTIONS = 0x10000;
const DATAGRAM = "0002";
