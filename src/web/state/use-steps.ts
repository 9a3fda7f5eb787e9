import { useEffect, useState } from "react";

/**
 * Counts steps after something has begun. Regions that appear in different steps are not drawn in one long task, which
 * would delay the user's input.
 */
export function useSteps(hasBegun: boolean, count: number): number {
  const [step, setStep] = useState(0);
  useEffect(() => {
    if (!hasBegun || step === count) return undefined;
    const timer = setTimeout(() => setStep(step + 1));
    return () => clearTimeout(timer);
  }, [hasBegun, step, count]);
  return step;
}
