import { ValueError } from '@coll/core';
import { isMapping, knownOptions, optionsOf, quote, requireFunction, requireSignal } from '@coll/core/internal';
import type { Passed } from './structure-types.js';

/** How replicas are run, apart from their arguments. All fields are optional. */
export interface RunSettings {
  /** For a module: the name of the exported function. Default: `default`, or else `replica`. */
  readonly exportName?: string;
  /** Called with each value that a replica passes to `context.report`. */
  readonly onReport?: (replica: number, value: unknown) => void;
  /**
   * Aborts all replicas, and `run` rejects with `AbortedError` at once. Replicas in this thread end
   * when they next wait for each other.
   */
  readonly signal?: AbortSignal;
  /**
   * For a module: `'kept'` runs it in the threads of the strategy, which keep the state of their
   * modules from run to run. `'own'` runs it in new threads, which end with the run. Default:
   * `'kept'`.
   */
  readonly threads?: 'kept' | 'own';
  /**
   * For a module: whether to move the memory of arrays in the arguments to the threads, which
   * detaches the arrays here, instead of copying it. Every array must be all of its buffer, and be
   * used by one replica only. Default: false.
   */
  readonly transfer?: boolean;
  /**
   * Has no effect; accepted for programs written for TensorFlow. Shapes may always differ from step
   * to step.
   */
  readonly experimentalEnableDynamicBatchSize?: boolean;
  /** Accepted, without effect. */
  readonly experimentalBucketizingDynamicShape?: boolean;
  /** Accepted, without effect. */
  readonly experimentalXlaOptions?: unknown;
}

/** How replicas are run. All fields are optional. */
export interface RunOptions extends RunSettings {
  /**
   * The arguments of each replica's function, after its context. Each replica gets its component of
   * a distributed value.
   */
  readonly args?: readonly unknown[];
  /** Named arguments, passed as one object after `args`. */
  readonly kwargs?: Readonly<Record<string, unknown>>;
}

/** The name of an option of `run` for this repository's packages. */
export const onRecords: unique symbol = Symbol('onRecords');

/** A run of a module whose replicas record their steps. */
export interface RecordedRun {
  /** Called with what a replica records, see `RunRecorder`. */
  readonly [onRecords]?: (replica: number, rows: Float64Array) => void;
}

/**
 * The options of `run` for a function with these parameters after its context. They may be omitted
 * if the function needs no arguments.
 */
export type RunOptionsOf<Args extends readonly unknown[]> = [] extends Args
  ? [options?: RunSettings & PassedArguments<Args>]
  : [options: RunSettings & PassedArguments<Args>];

/**
 * The options of `run` for a module. `exportName` is required unless the function is the default
 * export or, if there is no default export, the export `replica`.
 */
export type ModuleOptionsOf<Module, Name extends keyof Module> =
  Module[Name] extends Replica<infer Args>
    ? Name extends MainExport<Module>
      ? RunOptionsOf<Args>
      : [options: RunSettings & PassedArguments<Args> & { readonly exportName: Name }]
    : never;

/** The export of a module that runs by default: `default`, or else `replica`. */
export type MainExport<Module> = 'default' extends keyof Module ? 'default' : 'replica' & keyof Module;

/** The result of a module's export. */
export type ModuleResult<Module, Name extends keyof Module> = Module[Name] extends (
  context: never,
  ...args: never
) => infer Result
  ? Awaited<Result>
  : never;

/** `args` alone, or `kwargs` for the last parameter and `args` for the earlier ones. */
type PassedArguments<Args extends readonly unknown[]> = number extends Args['length']
  ? { readonly args?: PassedList<Args>; readonly kwargs?: Readonly<Record<string, unknown>> }
  :
      | (ArgsField<PassedList<Args>> & { readonly kwargs?: never })
      | (Required<Args> extends readonly [...infer First, infer Last]
          ? ArgsField<PassedList<First>> & { readonly kwargs: Passed<Last> }
          : never);

/** `args`, optional if an empty list is allowed. */
type ArgsField<List> = [] extends List ? { readonly args?: List } : { readonly args: List };

/** The values accepted for each argument. */
type PassedList<Args extends readonly unknown[]> = { readonly [Index in keyof Args]: Passed<Args[Index]> };

/** A replica's function with any result. */
type Replica<Args extends readonly unknown[]> = (context: never, ...args: Args) => unknown;

const runOptions = knownOptions<RunOptions>('run', {
  args: true,
  kwargs: true,
  exportName: true,
  onReport: true,
  signal: true,
  threads: true,
  transfer: true,
  experimentalEnableDynamicBatchSize: true,
  experimentalBucketizingDynamicShape: true,
  experimentalXlaOptions: true,
});

/** The arguments of a replica function after its context. @throws ValueError for invalid options */
export function argumentsOf(options: RunOptions): readonly unknown[] {
  if (Array.isArray(options))
    throw new ValueError('ERR_COLL_VALUE', `run: pass the arguments by name, { args: ${quote(options)} }`);
  const {
    args = [],
    kwargs,
    signal,
    onReport,
    threads,
    transfer,
  } = optionsOf(options, '{ args: [first, second] }', runOptions);
  requireSignal(signal);
  if (onReport !== undefined) requireFunction(onReport, 'run: onReport');
  if (threads !== undefined && threads !== 'kept' && threads !== 'own')
    throw new ValueError('ERR_COLL_VALUE', `run: threads must be 'kept' or 'own', got ${quote(threads)}`);
  if (transfer !== undefined && typeof transfer !== 'boolean')
    throw new ValueError('ERR_COLL_VALUE', `run: transfer must be true or false, got ${quote(transfer)}`);
  if (!Array.isArray(args))
    throw new ValueError('ERR_COLL_VALUE', 'run: positional args must be a list: { args: [first, second] }');
  if (kwargs === undefined) return args;
  if (!isMapping(kwargs))
    throw new ValueError('ERR_COLL_VALUE', 'run: kwargs must be an object: { kwargs: { name: value } }');
  return [...args, kwargs];
}
