import { ValueError } from '../support/errors.js';
import { knownOptions, requireKnownOptions } from '../support/known-options.js';
import { logDeprecated } from '../support/logger.js';
import { quote } from '../support/quote.js';
import { requireTimeout } from '../support/requirements.js';

/**
 * Which implementation runs collectives across workers. `AUTO` leaves the choice to the runtime.
 *
 * @example
 * ```ts
 * import { CommunicationImplementation, CommunicationOptions } from '@coll/core';
 *
 * const options = new CommunicationOptions({ implementation: CommunicationImplementation.RING });
 * console.log(options.implementation); // RING
 * ```
 */
export const CommunicationImplementation = { AUTO: 'AUTO', RING: 'RING', NCCL: 'NCCL' } as const;

/** `'AUTO'`, `'RING'` or `'NCCL'`. */
export type CommunicationImplementation =
  (typeof CommunicationImplementation)[keyof typeof CommunicationImplementation];

/**
 * The former name of `CommunicationImplementation`.
 *
 * @example
 * ```ts
 * import { CollectiveCommunication } from '@coll/core';
 *
 * console.log(CollectiveCommunication.AUTO); // AUTO
 * ```
 */
export const CollectiveCommunication = CommunicationImplementation;

/** An implementation by its name, in any letter case. */
export type CommunicationImplementationLike = CommunicationImplementation | Lowercase<CommunicationImplementation>;

/** The fields of `CommunicationOptions`, all optional. */
export interface CommunicationOptionsInit {
  /**
   * Values are reduced in packs, each by one collective. A pack is closed once it exceeds this many
   * bytes, a whole number. With 0, the `numPacks` option of the ops determines the packs, and
   * values passed as promises form one pack per dtype. Default: 0.
   */
  readonly bytesPerPack?: number | undefined;
  /** Seconds until a collective times out; null and ≤ 0 mean no limit. Default: null. */
  readonly timeoutSeconds?: number | null | undefined;
  /** A member of `CommunicationImplementation`, or its name in any letter case. Default: `AUTO`. */
  readonly implementation?: CommunicationImplementationLike | undefined;
  /**
   * Whether workers compare their calls before NCCL runs them, because NCCL does not check that the
   * calls match. Other implementations always check. Default: false.
   */
  readonly checkCalls?: boolean | undefined;
}

const communicationFields = knownOptions<CommunicationOptionsInit>('CommunicationOptions', {
  bytesPerPack: true,
  timeoutSeconds: true,
  implementation: true,
  checkCalls: true,
});

const hintsFields = knownOptions<Pick<CommunicationOptionsInit, 'bytesPerPack' | 'timeoutSeconds'>>('CollectiveHints', {
  bytesPerPack: true,
  timeoutSeconds: true,
});

/**
 * How collectives communicate. Every field has a default: `new CommunicationOptions()` leaves
 * packing to the ops, has no time limit and leaves the choice of implementation to the runtime.
 *
 * @example
 * ```ts
 * import { CommunicationOptions } from '@coll/core';
 *
 * const options = new CommunicationOptions({ timeoutSeconds: 60 });
 * const merged = options.merge({ bytesPerPack: 4 * 1024 * 1024 });
 * console.log(merged.timeoutSeconds, merged.bytesPerPack, merged.implementation); // 60 4194304 AUTO
 * ```
 */
export class CommunicationOptions {
  /**
   * Values are reduced in packs, each by one collective. A pack is closed once it exceeds this many
   * bytes. With 0, the `numPacks` option of the ops determines the packs, and values passed as
   * promises form one pack per dtype.
   */
  bytesPerPack: number;
  /**
   * Seconds until a collective times out; null and ≤ 0 mean no limit. In `merge`, null means not
   * given, as in TensorFlow, but 0 overrides another timeout.
   */
  timeoutSeconds: number | null;
  /** Which implementation runs collectives across workers. */
  implementation: CommunicationImplementation;
  /** Whether workers compare their collectives before NCCL runs them. */
  checkCalls: boolean;

  /**
   * Takes an object of fields, or the fields as positional arguments.
   * @throws ValueError, checked in this order: for an object together with positional arguments, an
   * unknown field, a `bytesPerPack` that is not a whole number ≥ 0, a `timeoutSeconds` that is
   * neither a number nor null, an unknown `implementation`, or a `checkCalls` that is not a boolean
   */
  constructor(fields?: CommunicationOptionsInit);
  constructor(bytesPerPack?: number, timeoutSeconds?: number | null, implementation?: CommunicationImplementationLike);
  constructor(first?: CommunicationOptionsInit | number, second?: unknown, third?: unknown) {
    const fields = fieldsFrom(first, second, third);
    const { bytesPerPack = 0, timeoutSeconds = null, implementation = 'AUTO', checkCalls = false } = fields;
    requireBytesPerPack(bytesPerPack);
    this.bytesPerPack = bytesPerPack;
    requireTimeout(timeoutSeconds);
    this.timeoutSeconds = timeoutSeconds;
    this.implementation = implementationFrom(implementation);
    if (typeof checkCalls !== 'boolean')
      throw new ValueError('ERR_COLL_VALUE', `checkCalls must be true or false, got ${quote(checkCalls)}`);
    this.checkCalls = checkCalls;
  }

  /**
   * New options in which `other` overrides every field it sets: a `bytesPerPack` other than 0, a
   * `timeoutSeconds` other than null (0 counts as set), an `implementation` other than AUTO, a
   * `checkCalls` of true.
   * @throws ValueError as the constructor
   */
  merge(other?: CommunicationOptions | CommunicationOptionsInit | null): CommunicationOptions {
    const { bytesPerPack, timeoutSeconds, implementation, checkCalls } = new CommunicationOptions(other ?? {});
    return new CommunicationOptions({
      bytesPerPack: bytesPerPack || this.bytesPerPack,
      timeoutSeconds: timeoutSeconds ?? this.timeoutSeconds,
      implementation: implementation === 'AUTO' ? this.implementation : implementation,
      checkCalls: checkCalls || this.checkCalls,
    });
  }

  /**
   * The options in the format of TensorFlow: `Options(bytes_per_pack=0,timeout_seconds=None,
   * implementation=CommunicationImplementation.AUTO)`.
   */
  toString(): string {
    const timeout = this.timeoutSeconds ?? 'None';
    return `Options(bytes_per_pack=${this.bytesPerPack},timeout_seconds=${timeout}, implementation=CommunicationImplementation.${this.implementation})`;
  }
}

/**
 * Communication options whose implementation is `AUTO`. The first use logs a warning.
 * @deprecated The old name of `CommunicationOptions`.
 *
 * @example
 * ```ts
 * import { CollectiveHints, setLogSink } from '@coll/core';
 *
 * setLogSink(() => {}); // without the warning that the name is deprecated
 * const hints = new CollectiveHints({ timeoutSeconds: 60 });
 * console.log(hints.timeoutSeconds, hints.implementation); // 60 AUTO
 * setLogSink();
 * ```
 */
export class CollectiveHints extends CommunicationOptions {
  /**
   * @throws ValueError as `CommunicationOptions`, and for `implementation` and `checkCalls`, which
   * hints do not have
   */
  constructor(fields?: Pick<CommunicationOptionsInit, 'bytesPerPack' | 'timeoutSeconds'>);
  constructor(bytesPerPack?: number, timeoutSeconds?: number | null);
  constructor(first?: CommunicationOptionsInit | number, second?: unknown) {
    logDeprecated('CollectiveHints', 'CommunicationOptions');
    const { bytesPerPack, timeoutSeconds } = fieldsFrom(first, second, undefined, hintsFields);
    super({ bytesPerPack, timeoutSeconds });
  }
}

/** @throws ValueError for unknown fields, and for an object together with positional arguments */
function fieldsFrom(
  first: unknown,
  timeoutSeconds?: unknown,
  implementation?: unknown,
  known = communicationFields,
): CommunicationOptionsInit {
  if (typeof first !== 'object' || first === null)
    return { bytesPerPack: first, timeoutSeconds, implementation } as CommunicationOptionsInit;
  if (timeoutSeconds === undefined && implementation === undefined && !(Symbol.iterator in first)) {
    if (!(first instanceof CommunicationOptions)) requireKnownOptions(first, known);
    return first;
  }
  throw new ValueError('ERR_COLL_VALUE', 'pass the options as one object or as positional arguments, not both');
}

/** @throws ValueError unless `bytesPerPack` is a whole number ≥ 0 */
export function requireBytesPerPack(bytesPerPack: unknown): asserts bytesPerPack is number {
  if (Number.isSafeInteger(bytesPerPack) && (bytesPerPack as number) >= 0) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `bytesPerPack must be a whole number of bytes, 0 or more, got ${quote(bytesPerPack)}`,
  );
}

function implementationFrom(value: unknown): CommunicationImplementation {
  if (value === 'AUTO') return value;
  const name = typeof value === 'string' ? value.toUpperCase() : '';
  if (Object.hasOwn(CommunicationImplementation, name)) return name as CommunicationImplementation;
  const known = Object.keys(CommunicationImplementation).join(', ');
  throw new ValueError('ERR_COLL_VALUE', `implementation must be one of ${known}, got ${quote(value)}`);
}
