import { abortedError } from '../collectives/call-errors.js';
import { CommunicationOptions, type CommunicationOptionsInit } from '../collectives/communication-options.js';
import { ValueError } from '../support/errors.js';
import { type KnownOptions, knownOptions, requireKnownOptions } from '../support/known-options.js';
import { logDeprecated } from '../support/logger.js';
import { quote } from '../support/quote.js';
import { requireSignal } from '../support/signal.js';
import type { Tensor } from '../values/tensor.js';
import type { Turn } from './call-order.js';
import type { RunOptions } from './communicator.js';
import { setRunOptions } from './run-options.js';

/** The fields of `CommunicationOptions`, plus options that only calls have. */
export interface CallFields extends CommunicationOptionsInit {
  /** Aborts this call's wait with `AbortedError`. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Allows all components of a dense result to share one memory, which is written once and
   * read-only afterwards. Default: false; each component has its own memory.
   */
  readonly sharedResult?: boolean | undefined;
  /**
   * Makes sparse results hold each index once, in ascending order, with the sum of its rows. 16-bit
   * floats are added in float32 and rounded once. Default: false; the rows and indices of all
   * replicas are concatenated.
   */
  readonly deduplicate?: boolean | undefined;
  /**
   * The turn (a place in the group's call order) in which this call runs. Ops that make this call
   * as a part of another call pass the turn of that call. Default: a turn of its own.
   */
  readonly turn?: Turn | undefined;
  /**
   * A name for each value of an all-reduce or broadcast, in the order of the list or structure. A
   * plug-in that keeps state per value, such as the error of its compression, finds them as the ids
   * of `RunOptions.values`. Default: the index of each value.
   */
  readonly names?: readonly (string | number)[] | undefined;
  /** The communication options as one object. A field set in this object overrides the same field next to it. */
  readonly options?: CommunicationOptions | undefined;
  /** @deprecated The old name of `options`. */
  readonly experimentalHints?: CommunicationOptions | undefined;
}

const fieldNames = knownOptions<Omit<CallFields, 'names'>>('options of a collective', {
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

const withInto: KnownOptions = { ...fieldNames, names: new Set([...fieldNames.names, 'into', 'names']) };

/** The last argument of a collective call: options, or an object with the fields of `CallFields`. */
export type CallOptions = CommunicationOptions | CallFields;

/** The last argument of a call, validated and with defaults filled in. */
export interface ResolvedOptions {
  /** A copy of the communication options of the call, or the defaults, which are frozen. */
  readonly options: CommunicationOptions;
  /** Aborts this call's wait. */
  readonly signal: AbortSignal | undefined;
  /** The turn (a place in the group's call order) in which this call runs. */
  readonly turn?: Turn | undefined;
  /** Whether all components of a result share one memory. Undefined means false. */
  readonly sharedResult?: boolean;
  /** Whether sparse results hold each index only once. Undefined means false. */
  readonly deduplicate?: boolean;
  /** A name for each value. Undefined: their indices. */
  readonly names?: readonly (string | number)[];
  /**
   * Memory for the results, given by the caller: one list of tensors per value. Ops may ignore this
   * memory; their results are then copied into it.
   */
  readonly targets?: readonly (readonly Tensor[] | undefined)[];
}

/** The options of calls that set none. Frozen, because such calls share them. */
const defaults: ResolvedOptions = Object.freeze({
  options: Object.freeze(new CommunicationOptions()),
  signal: undefined,
});

/**
 * Validates the last argument of a call and fills in defaults. Accepted names are those of
 * `CallFields`, plus `into`, whose value is not checked here.
 * @throws ValueError for unknown names, and for values of the wrong kind
 */
export function resolveCallOptions(call: CallOptions | null | undefined): ResolvedOptions {
  return resolve(call, withInto);
}

/**
 * Like `resolveCallOptions`, for calls that accept neither `into` nor `names`.
 * @throws ValueError as `resolveCallOptions`, and for `into` and `names`
 */
export function resolveWithoutInto(call: CallOptions | null | undefined): ResolvedOptions {
  return resolve(call, fieldNames);
}

function resolve(call: CallOptions | null | undefined, known: KnownOptions): ResolvedOptions {
  if (call === undefined || call === null) return defaults;
  if (call instanceof CommunicationOptions) return { options: new CommunicationOptions(call), signal: undefined };
  requireFields(call);
  const count = requireKnownOptions(call, known);
  if (count === 0 || (count === 1 && 'into' in call)) return defaults;
  const { signal, options, experimentalHints, turn, names } = call;
  requireSignal(signal);
  const sharedResult = flagOf(call, 'sharedResult');
  const deduplicate = flagOf(call, 'deduplicate');
  if (options !== undefined && experimentalHints !== undefined) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      'pass either options or experimentalHints, not both; experimentalHints is the old name of options',
    );
  }
  if (experimentalHints !== undefined) logDeprecated('experimentalHints', 'options');
  const given = options ?? experimentalHints;
  if (given) requireFields(given);
  const { bytesPerPack, timeoutSeconds, implementation, checkCalls } = call;
  const fields = new CommunicationOptions({ bytesPerPack, timeoutSeconds, implementation, checkCalls });
  const merged = given ? fields.merge(given) : fields;
  // Written field by field because spreads cost more than a small collective.
  const resolved: { -readonly [Field in keyof ResolvedOptions]: ResolvedOptions[Field] } = { options: merged, signal };
  if (turn) resolved.turn = turn;
  if (sharedResult) resolved.sharedResult = true;
  if (deduplicate) resolved.deduplicate = true;
  if (names !== undefined) resolved.names = distinctNames(names);
  return resolved;
}

/**
 * Resolves the options of a call at its start.
 * @throws the errors of `resolveOptions`; AbortedError if the signal is already aborted, in which
 * case only this call fails and not the group
 */
export function begunOptions(
  operation: string,
  options: CallOptions | undefined,
  resolveOptions = resolveCallOptions,
): ResolvedOptions {
  const resolved = resolveOptions(options);
  if (resolved.signal?.aborted) throw abortedError('before it began', resolved.signal, { operation });
  return resolved;
}

/** The error for a call that requests both `into` and `sharedResult`. */
export function intoAndShared(): ValueError {
  const message =
    'pass either into or sharedResult, not both: into writes to memory of your own, sharedResult gives all replicas one result';
  return new ValueError('ERR_COLL_VALUE', message);
}

/** The options for the collectives that make up a call. */
export function runOptionsOf({ options, signal, sharedResult, turn }: ResolvedOptions): RunOptions {
  const { timeoutSeconds, checkCalls } = options;
  return setRunOptions({ timeoutSeconds, checkCalls, signal, sharedResult, turn });
}

/** @throws ValueError unless a call with names has one for each of its values */
export function requireNameEach({ names }: ResolvedOptions, values: number): void {
  if (names === undefined || names.length === values) return;
  const message = `names must have one name per value, got ${names.length} names for ${values} values`;
  throw new ValueError('ERR_COLL_VALUE', message);
}

function distinctNames(names: unknown): readonly (string | number)[] {
  const isName = (name: unknown) => typeof name === 'string' || typeof name === 'number';
  if (Array.isArray(names) && names.every(isName) && new Set(names).size === names.length) return [...names];
  const message = `names must be a list of different strings or numbers, got ${quote(names)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}

/** The call options to pass to other ops that serve a part of this call. */
export function partOf({ options, signal, sharedResult, turn }: ResolvedOptions): CallFields {
  return { options, signal, sharedResult, turn };
}

/** The options of a call for some of its values, which have the given indices. */
export function optionsAt(indices: readonly number[], call: ResolvedOptions): ResolvedOptions {
  const { targets, names } = call;
  const own = { ...call, names: indices.map((index) => names?.[index] ?? index) };
  return targets ? { ...own, targets: indices.map((index) => targets[index]) } : own;
}

/** Whether the option `name` is set. @throws ValueError unless its value is a boolean or undefined */
function flagOf(call: CallFields, name: 'sharedResult' | 'deduplicate'): boolean {
  const { [name]: flag = false } = call;
  if (typeof flag !== 'boolean')
    throw new ValueError('ERR_COLL_VALUE', `${name} must be true or false, got ${quote(flag)}`);
  return flag;
}

function requireFields(call: object): void {
  if (typeof call === 'object' && !(Symbol.iterator in call)) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `options must be CommunicationOptions or an object with its fields, got ${quote(call)}`,
  );
}
