import type { Workers } from '@coll/multi-worker';

/** 1 to 4 workers with 1 to 4 devices each. */
export const shapes: readonly Workers[] = [1, 2, 3, 4].flatMap((workers) =>
  [1, 2, 3, 4].map((gpusPerWorker) => ({ workers, gpusPerWorker })),
);
