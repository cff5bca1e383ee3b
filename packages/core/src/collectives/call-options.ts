import type { Turn } from '../runtime/call-order.js';
import { ValueError } from '../support/errors.js';
import { type KnownOptions, knownOptions, requireKnownOptions } from '../support/known-options.js';
import { logDeprecated } from '../support/logger.js';
import { quote } from '../support/quote.js';
import { requireSignal } from '../support/signal.js';
import type { Tensor } from '../values/tensor.js';
import { abortedError } from './call-errors.js';
import { CommunicationOptions, type CommunicationOptionsInit } from './communication-options.js';
import type { RunOptions } from './communicator.js';

/** Options of a call as fields, and what belongs to this call alone. */
export interface CallFields extends CommunicationOptionsInit {
  /** Ends the waiting of this call, with `AbortedError`. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** The components of a dense result may all be one memory, written once, that nobody writes to afterwards. Default: each has its own. */
  readonly sharedResult?: boolean | undefined;
  /**
   * Sparse results have every index once, in ascending order: rows of one index are added up, half types in float32 and rounded once. Default:
   * rows and indices of all replicas one after the other.
   */
  readonly deduplicate?: boolean | undefined;
  /** The turn that this call is a part of, for ops that serve a part of another call. Default: the call takes its own turn. */
  readonly turn?: Turn | undefined;
  /** The options as an object of their own. */
  readonly options?: CommunicationOptions | undefined;
  /** @deprecated The old name of `options`. */
  readonly experimentalHints?: CommunicationOptions | undefined;
}

const fieldNames = knownOptions<CallFields>('options of a collective', {
  bytesPerPack: true,
  timeoutSeconds: true,
  implementation: true,
  checkCalls: true,
  signal: true,
  sharedResult: true,
  deduplicate: true,
  turn: true,
  options: true,
  experimentalHints: true,
});

const withInto: KnownOptions = { ...fieldNames, names: new Set([...fieldNames.names, 'into']) };

/** What the last argument of a collective call may be: options, or their fields with an `AbortSignal` beside them. */
export type CallOptions = CommunicationOptions | CallFields;

/** The last argument of a call, checked and filled up. */
export interface ResolvedOptions {
  /** A copy of the options, or the defaults. */
  readonly options: CommunicationOptions;
  /** Ends the waiting of this call. */
  readonly signal: AbortSignal | undefined;
  /** The turn that this call is a part of. */
  readonly turn?: Turn | undefined;
  /** Absent: no, each component of a result has memory of its own. */
  readonly sharedResult?: boolean;
  /** Absent: no, duplicated indices of sparse results stay. */
  readonly deduplicate?: boolean;
  /** Memory for the results, where it was named, one list of tensors a value: who does not write there lets the caller copy. */
  readonly targets?: readonly (readonly Tensor[] | undefined)[];
}

/**
 * Checks the last argument of a call and fills in what it leaves out. The names are those of `CallFields`, and `into`, which is not looked at.
 * @throws ValueError for unknown names, and for values of the wrong kind
 */
export function resolveCallOptions(call: CallOptions | null | undefined): ResolvedOptions {
  return resolve(call, withInto);
}

/** The same for calls that have no memory for results: `into` is an unknown name. @throws ValueError as `resolveCallOptions` */
export function resolveWithoutInto(call: CallOptions | null | undefined): ResolvedOptions {
  return resolve(call, fieldNames);
}

function resolve(call: CallOptions | null | undefined, known: KnownOptions): ResolvedOptions {
  if (call instanceof CommunicationOptions) return { options: new CommunicationOptions(call), signal: undefined };
  if (call === undefined || call === null) return { options: new CommunicationOptions(), signal: undefined };
  requireFields(call);
  requireKnownOptions(call, known);
  const { signal, options, experimentalHints, turn } = call;
  requireSignal(signal);
  const flags = { ...(turn ? { turn } : {}), ...flagOf(call, 'sharedResult'), ...flagOf(call, 'deduplicate') };
  if (options !== undefined && experimentalHints !== undefined) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      'options and experimentalHints were both given; experimentalHints is the old name of options',
    );
  }
  if (experimentalHints !== undefined) logDeprecated('experimentalHints', 'options');
  const given = options ?? experimentalHints;
  if (given) requireFields(given);
  const { bytesPerPack, timeoutSeconds, implementation, checkCalls } = call;
  const fields = new CommunicationOptions({ bytesPerPack, timeoutSeconds, implementation, checkCalls });
  const merged = given ? fields.merge(given) : fields;
  return { options: merged, signal, ...flags };
}

/** The options of a call that begins. @throws AbortedError where its signal does not let it, which ends nothing but the call */
export function begunOptions(
  operation: string,
  options: CallOptions | undefined,
  resolveOptions = resolveCallOptions,
): ResolvedOptions {
  const resolved = resolveOptions(options);
  if (resolved.signal?.aborted) throw abortedError('before it began', resolved.signal, { operation });
  return resolved;
}

/** The error of a call that asks for memory of its own and for shared memory at once. */
export function intoAndShared(): ValueError {
  const told =
    'into and sharedResult were both given: results are in memory of your own, or in one that all replicas share';
  return new ValueError('ERR_COLL_VALUE', told);
}

/** The options of the collectives that a call runs. */
export function runOptionsOf({ options, signal, sharedResult, turn }: ResolvedOptions): RunOptions {
  const { timeoutSeconds, checkCalls } = options;
  return {
    timeoutSeconds,
    ...(checkCalls ? { checkCalls } : {}),
    ...(signal ? { signal } : {}),
    ...(sharedResult ? { sharedResult } : {}),
    ...(turn ? { turn } : {}),
  };
}

/** The options of a call of other ops that serves a part of this one. */
export function partOf({ options, signal, sharedResult, turn }: ResolvedOptions): CallFields {
  return { options, signal, sharedResult, turn };
}

/** A flag that is set. @throws ValueError */
function flagOf(call: CallFields, name: 'sharedResult' | 'deduplicate'): Pick<ResolvedOptions, typeof name> {
  const { [name]: flag = false } = call;
  if (typeof flag !== 'boolean')
    throw new ValueError('ERR_COLL_VALUE', `${name} must be true or false, not ${quote(flag)}`);
  return flag ? { [name]: true } : {};
}

function requireFields(call: object): void {
  if (typeof call === 'object' && !(Symbol.iterator in call)) return;
  throw new ValueError('ERR_COLL_VALUE', `options must be CommunicationOptions or its fields, not ${quote(call)}`);
}
