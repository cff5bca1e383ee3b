import { ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';

/** Options of a group of the ranks of an MPI job, all optional. They must be equal on all ranks. */
export interface MpiOptions {
  /**
   * Timeout in seconds for calls that set no timeout. 0 means no limit. Default: 600.
   */
  readonly defaultTimeoutSeconds?: number | undefined;
  /**
   * Whether ranks compare every call before MPI executes the call. If false, ranks compare only the
   * first call of each shape, and MPI may mix up two calls of known shapes. Default: true if
   * `COLL_MPI_CHECK_CALLS` is 1, otherwise false.
   */
  readonly checkCalls?: boolean | undefined;
  /**
   * How `float16` and `bfloat16` values are sent. `stored` sends the values unchanged and rounds
   * sums at each step. `float32` sends twice as many bytes and rounds sums once. Default: `stored`.
   */
  readonly halfPrecision?: 'stored' | 'float32' | undefined;
}

const mpiOptions = knownOptions<MpiOptions>('openMpiGroup', {
  defaultTimeoutSeconds: true,
  checkCalls: true,
  halfPrecision: true,
});

const usualTimeoutSeconds = 600;

/** The options with their defaults. */
export interface ResolvedMpiOptions {
  readonly defaultMillis: number;
  readonly checkCalls: boolean;
  readonly isWide: boolean;
}

/** @throws ValueError for an unknown option or an invalid value */
export function resolveMpiOptions(
  options: MpiOptions | undefined,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): ResolvedMpiOptions {
  const given = optionsOf(options, '{ defaultTimeoutSeconds: 60 }', mpiOptions);
  const { defaultTimeoutSeconds = usualTimeoutSeconds, halfPrecision = 'stored' } = given;
  if (typeof defaultTimeoutSeconds !== 'number' || !(defaultTimeoutSeconds >= 0)) {
    const message = `must be a number of seconds, 0 or more, got ${quote(defaultTimeoutSeconds)}`;
    throw new ValueError('ERR_COLL_VALUE', `mpi: defaultTimeoutSeconds ${message}`);
  }
  if (halfPrecision !== 'stored' && halfPrecision !== 'float32')
    throw new ValueError(
      'ERR_COLL_VALUE',
      `mpi: halfPrecision must be 'stored' or 'float32', got ${quote(halfPrecision)}`,
    );
  return {
    defaultMillis: Number.isFinite(defaultTimeoutSeconds) ? defaultTimeoutSeconds * 1000 : 0,
    checkCalls: given.checkCalls ?? variables['COLL_MPI_CHECK_CALLS'] === '1',
    isWide: halfPrecision === 'float32',
  };
}
