/** Batches of these sizes, with numbers that count on. */
export function batches(...sizes: readonly number[]): number[][] {
  let next = 0;
  return sizes.map((size) => Array.from({ length: size }, () => next++));
}

/** All steps of a dataset. */
export async function collect<Step>(dataset: AsyncIterable<Step>): Promise<Step[]> {
  const steps: Step[] = [];
  for await (const step of dataset) steps.push(step);
  return steps;
}
