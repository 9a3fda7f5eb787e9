import type { ReactNode } from "react";

interface ProblemProps {
  readonly title: string;
  /** What happened and what to do. */
  readonly children: ReactNode;
}

/** Tells what is wrong, where the content would be. */
export function Problem({ title, children }: ProblemProps): ReactNode {
  return (
    <div className="problem" role="alert">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}
