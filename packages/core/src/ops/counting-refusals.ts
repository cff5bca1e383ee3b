/** Ops of several workers, which compare how many calls each of them has refused. */
interface RefusingOps {
  refused(error: unknown): void;
}

/**
 * Makes a call of all workers. An error counts as a refused call: workers that do not get it, too,
 * wait in this call or have made it. A group that has failed needs no count.
 */
export async function countingRefusals<Result>(ops: RefusingOps, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    ops.refused(error);
    throw error;
  }
}
