/** Letters that a reader takes for a Latin one. Small on purpose: what stands for letters of names in ASCII, no more. */
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

/** What the eye makes of a name: two names of one shape can be taken for each other, apart from upper and lower case. */
export function shapeOf(name: string): string {
  if (isPlain(name)) return name.toLowerCase();
  const visible = name.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  return [...visible].map((letter) => lookAlikes.get(letter) ?? letter.toLowerCase()).join("");
}

/** Whether it is taken for something it is not: its shape is not what is written. */
export function isDisguised(name: string): boolean {
  return !isPlain(name) && shapeOf(name) !== name.toLowerCase();
}

/** Letters of two alphabets that resemble each other in one word: nobody writes so. Words in several alphabets are common. */
export function mixesAlphabets(name: string): boolean {
  if (isPlain(name)) return false;
  const words = name.match(/\p{L}+/gu) ?? [];
  return words.some((word) => alphabets.filter(([, letter]) => letter.test(word)).length > 1);
}

/** The characters that are not what they seem, for the one who must find them: `"ӏ" (Cyrillic, U+04CF)`. */
export function namedLetters(name: string): string {
  const odd = [...new Set(name)].filter((letter) => !isPlain(letter) && (isDisguised(letter) || !isLatin(letter)));
  return odd.slice(0, 4).map(described).join(", ");
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
