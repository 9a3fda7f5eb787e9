/** `Read, Bash(git log, git show) Edit` are three rules: commas and blanks part them, except within parentheses. */
export function splitRules(text: string): string[] {
  const rules: string[] = [];
  let depth = 0;
  let rule = "";
  for (const character of text) {
    if (character === "(") depth += 1;
    if (character === ")") depth = Math.max(0, depth - 1);
    if (depth === 0 && /[\s,]/.test(character)) {
      if (rule !== "") rules.push(rule);
      rule = "";
    } else rule += character;
  }
  return rule === "" ? rules : [...rules, rule];
}
