/**
 * One rank's part of a measured call, or the parts of all ranks that one thread holds. All ranks make the
 * same calls in the same order.
 */
export interface Subject {
  /** Whether `call` is done when it returns; otherwise it returns a promise. */
  readonly isSync: boolean;
  /** Writes known values into the inputs. */
  rewrite(): void;
  call(): unknown;
  /** Describes a wrong result of the first call after `rewrite`; undefined if it is right. */
  problem(): string | undefined;
  /**
   * Computes the elementwise maximum over all ranks, in place. Ranks also use it to wait for each other. It
   * is sync if `isSync`.
   */
  agree(values: Float64Array): unknown;
}

/** A result differs from the result of plain arithmetic. */
export class WrongResultError extends Error {
  override readonly name = 'WrongResultError';
}

/** Makes one call, and checks its result. @throws WrongResultError */
export async function checkFirstCall(subject: Subject, what: string): Promise<void> {
  subject.rewrite();
  await subject.call();
  const problem = subject.problem();
  if (problem !== undefined) throw new WrongResultError(`${what}: ${problem}`);
}
