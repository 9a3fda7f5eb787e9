/**
 * What a long page has to say about a question: the beginning, and the sections where its words stand most densely,
 * in their order on the page.
 */
export function chooseSections(text: string, question: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const words = wordsOf(question);
  if (words.length === 0) return text;
  const sections = split(text);
  const scored = sections.map((section, index) => ({ index, score: index === 0 ? Infinity : score(section, words) }));
  scored.sort((left, right) => right.score - left.score || left.index - right.index);
  const chosen = new Set<number>();
  let room = maxCharacters;
  for (const { index, score } of scored) {
    const length = (sections[index]?.length ?? 0) + mark.length;
    if (score === 0 || length > room) continue;
    chosen.add(index);
    room -= length;
  }
  if (chosen.size <= 1) return text;
  return join(sections, chosen);
}

const mark = "\n[…]\n";
const sectionSize = 1_500;
const tooCommon = new Set(
  "the and for with that this what which how does from are was were page find about into".split(" "),
);

function wordsOf(question: string): string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? [];
  return [...new Set(words)].filter((word) => !tooCommon.has(word)).slice(0, 30);
}

/** At paragraph ends, in pieces of about a screen. */
function split(text: string): string[] {
  const sections: string[] = [];
  let current = "";
  for (const paragraph of text.split(/\n(?=\n|#)/)) {
    for (let start = 0; start === 0 || start < paragraph.length; start += sectionSize * 4) {
      const piece = paragraph.slice(start, start + sectionSize * 4);
      const startsNew = current !== "" && (current.length + piece.length > sectionSize || piece.startsWith("#"));
      if (startsNew) {
        sections.push(current);
        current = piece;
      } else current = current === "" ? piece : `${current}\n${piece}`;
    }
  }
  if (current !== "") sections.push(current);
  return sections;
}

function score(section: string, words: readonly string[]): number {
  const lower = section.toLowerCase();
  let total = 0;
  for (const word of words) {
    const times = lower.split(word).length - 1;
    total += Math.min(times, 5) + (times > 0 ? 3 : 0);
  }
  return total;
}

function join(sections: readonly string[], chosen: ReadonlySet<number>): string {
  let text = "";
  let last = -1;
  for (const index of [...chosen].sort((left, right) => left - right)) {
    text += index === 0 ? "" : index === last + 1 ? "\n" : mark;
    text += sections[index] ?? "";
    last = index;
  }
  return last < sections.length - 1 ? text + mark : text;
}
