/**
 * One rank's part in what is measured, or all ranks' where one thread holds them. All ranks make the same calls in the same order.
 */
export interface Subject {
  /** Whether `call` is done when it returns; otherwise it returns a promise. */
  readonly isSync: boolean;
  /** Writes known values into the inputs. */
  rewrite(): void;
  call(): unknown;
  /** What is wrong with the results of the first call after `rewrite`, for people. */
  problem(): string | undefined;
  /** The elementwise maximum over all ranks, in place: also the way to wait for each other. A subject that calls synchronously does it so. */
  agree(values: Float64Array): unknown;
}

/** A result is not what plain arithmetic gives. */
export class WrongResultError extends Error {
  override readonly name = 'WrongResultError';
}

/** Makes one call, and looks at what it did. @throws WrongResultError */
export async function checkFirstCall(subject: Subject, what: string): Promise<void> {
  subject.rewrite();
  await subject.call();
  const problem = subject.problem();
  if (problem !== undefined) throw new WrongResultError(`${what}: ${problem}`);
}
