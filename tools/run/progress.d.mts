export function showPhase(
  name: string,
  doing: string,
  usualSeconds: number,
): { detail(text: string | undefined): void; end(outcome: string, notes?: string): void };
export function announce(name: string, doing: string, usualSeconds: number): () => void;
