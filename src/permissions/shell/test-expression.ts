import type { TestExpression } from "unbash";

/** Why `[[ … ]]` could run something, or undefined. Numbers are compared by arithmetic, which evaluates its operands. */
export function testProblem(expression: TestExpression): string | undefined {
  switch (expression.type) {
    case "TestUnary":
      return fileAndText.has(expression.operator) ? undefined : `\`${expression.operator}\` evaluates a name`;
    case "TestBinary": {
      if (texts.has(expression.operator)) return undefined;
      const numbers = [expression.left, expression.right].every((word) => /^-?\d{1,18}$/.test(word.text));
      return numbers ? undefined : `\`${expression.operator}\` evaluates what stands beside it`;
    }
    case "TestLogical":
      return firstOf(expression.operands);
    case "TestNot":
      return testProblem(expression.operand);
    case "TestGroup":
      return testProblem(expression.expression);
  }
}

function firstOf(expressions: readonly TestExpression[]): string | undefined {
  for (const expression of expressions) {
    const problem = testProblem(expression);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const fileAndText = new Set("-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S -z -n".split(" "));
const texts = new Set("= == != =~ < > -nt -ot -ef".split(" "));
