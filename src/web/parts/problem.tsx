import type { ReactNode } from "react";

interface ProblemProps {
  readonly title: string;
  /** What happened and what to do. */
  readonly children: ReactNode;
}

/** Shows what is wrong in place of the content. */
export function Problem({ title, children }: ProblemProps): ReactNode {
  return (
    <div className="problem" role="alert">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}
