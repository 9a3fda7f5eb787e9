import type { AgentDefinition, Diagnostic } from "../../protocol/index.ts";

/** Letters that look like a Latin letter. Deliberately limited to letters that imitate those in ASCII names. */
const lookAlikes = new Map<string, string>([
  ...pairs("аᴀɑαẚ", "a"),
  ...pairs("АΑ", "a"),
  ...pairs("ВΒв", "b"),
  ...pairs("сСϲϹ", "c"),
  ...pairs("ԁ", "d"),
  ...pairs("еЕΕ", "e"),
  ...pairs("ɡց", "g"),
  ...pairs("һНΗհ", "h"),
  ...pairs("іІΙιı", "i"),
  ...pairs("јЈյϳ", "j"),
  ...pairs("кКΚκ", "k"),
  ...pairs("ӏӀ", "l"),
  ...pairs("мМΜ", "m"),
  ...pairs("пΝηո", "n"),
  ...pairs("оОΟοօ", "o"),
  ...pairs("рРΡρ", "p"),
  ...pairs("ԛզ", "q"),
  ...pairs("г", "r"),
  ...pairs("ѕЅ", "s"),
  ...pairs("тТΤτ", "t"),
  ...pairs("υս", "u"),
  ...pairs("ѵν", "v"),
  ...pairs("ԝω", "w"),
  ...pairs("хХΧχ", "x"),
  ...pairs("уУΥγ", "y"),
  ...pairs("Ζ", "z"),
]);

function pairs(letters: string, latin: string): [string, string][] {
  return [...letters].map((letter) => [letter, latin]);
}

/** Returns the shape of a name: what it looks like, ignoring case. Two names with the same shape can be confused. */
export function shapeOf(name: string): string {
  if (isPlain(name)) return name.toLowerCase();
  const visible = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return [...visible].map((letter) => lookAlikes.get(letter) ?? letter.toLowerCase()).join("");
}

/** Returns true if the name contains letters that look like other letters. */
export function isDisguised(name: string): boolean {
  return !isPlain(name) && shapeOf(name) !== name.toLowerCase();
}

/** Returns true if a single word mixes similar alphabets. Separate words in different alphabets are common. */
export function mixesAlphabets(name: string): boolean {
  if (isPlain(name)) return false;
  const words = name.match(/\p{L}+/gu) ?? [];
  return words.some((word) => alphabets.filter(([, letter]) => letter.test(word)).length > 1);
}

/** Describes the confusable characters to the author: `"ӏ" (Cyrillic, U+04CF)`. */
export function namedLetters(name: string): string {
  const odd = [...new Set(name)].filter((letter) => !isPlain(letter) && (isDisguised(letter) || !isLatin(letter)));
  return odd.slice(0, 4).map(described).join(", ");
}

/**
 * Reports names that look like another agent's name. Names that look like a built-in agent's are reported when the file
 * is read.
 */
export function disguisedNames(agents: readonly AgentDefinition[]): Diagnostic[] {
  const odd = agents.filter(({ name }) => isDisguised(name));
  if (odd.length === 0) return [];
  const byShape = new Map<string, AgentDefinition[]>();
  for (const agent of agents) {
    const alike = byShape.get(shapeOf(agent.name));
    if (alike) alike.push(agent);
    else byShape.set(shapeOf(agent.name), [agent]);
  }
  return odd.flatMap(({ name, file = "" }): Diagnostic[] => {
    const alike = byShape.get(shapeOf(name)) ?? [];
    const other = alike.find((each) => each.name.toLowerCase() !== name.toLowerCase());
    if (other === undefined || other.source === "built-in") return [];
    const like = `looks like the name of another agent, "${other.name}" from ${other.file ?? other.source}`;
    const message = `The name "${name}" contains ${namedLetters(name)} and ${like}.`;
    return [{ severity: "warning", file, line: 1, code: "confusable_name", message, fix: "Rename one of the two." }];
  });
}

const alphabets: readonly (readonly [string, RegExp])[] = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Armenian", /\p{Script=Armenian}/u],
];

function described(letter: string): string {
  const code = `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  const alphabet = alphabets.find(([, pattern]) => pattern.test(letter))?.[0];
  const shown = /\p{Default_Ignorable_Code_Point}/u.test(letter) ? "an invisible character" : `"${letter}"`;
  return `${shown} (${alphabet === undefined ? code : `${alphabet}, ${code}`})`;
}

function isLatin(letter: string): boolean {
  return /\p{Script=Latin}/u.test(letter);
}

function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text);
}
