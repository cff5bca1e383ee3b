import type { CallerRequest, Purpose } from '../collectives/caller-request.js';
import { type Collective, type CollectiveOp, collectiveOp, refusedSparse } from '../collectives/collective.js';
import { partsWithIds, RoutedBatches, type Routing } from '../packing/routes.js';
import { Views } from '../packing/views.js';
import type { ResolvedOptions } from '../runtime/call-options.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Phases, Run, Work } from '../runtime/drive.js';
import { isIndexedSlices, splitBySparsity, stitchValues } from '../sparse/sparse.js';
import { NotImplementedError, ValueError } from '../support/errors.js';
import { type DType, dtypes } from '../values/dtype.js';
import type { IndexedSlices, Value } from '../values/indexed-slices.js';
import { hashOf, layoutOf } from '../values/layout.js';
import { valuesIn } from '../values/structure.js';
import type { Tensor } from '../values/tensor.js';
import type { Batch, ValueLists } from './batch.js';
import { ExchangeBuffers } from './exchange-buffers.js';
import { type Composition, gatherAlong, type Member } from './replica-gathers.js';
import { agreeOnSlices, gatherSlices } from './replica-sparse.js';
import { resultsFor } from './results.js';
import { canBeCopied, SmallReduces } from './small-reduces.js';

export interface ReplicaReduceOptions {
  /**
   * Values are reduced in packs. A pack is closed once it exceeds this many bytes. Default: 0, the
   * routing determines the packs.
   */
  readonly bytesPerPack?: number;
  /**
   * Validated memory for the results, one tensor per dense value; may be the values themselves.
   * Default: new memory.
   */
  readonly into?: readonly Tensor[] | undefined;
  /**
   * A description of the values' structure. Must be the same on all replicas; otherwise the call
   * fails.
   */
  readonly form?: string;
  /** Whether sparse results have each index only once, with the sum of its rows. Default: false. */
  readonly deduplicate?: boolean;
  /** Numbers that must be equal on all replicas, in addition to shape and dtype; otherwise the call fails. */
  readonly announced?: readonly number[] | undefined;
  /** What the call is for; ranks compare it. Default: the call itself. */
  readonly purpose?: Purpose | undefined;
  /** A name for each value. Default: their indices. */
  readonly names?: ResolvedOptions['names'] | undefined;
  /** Whether the call before was on the same memory, so that the engine may keep the call. Default: false. */
  readonly isRepeated?: boolean | undefined;
  /** The options of the collectives. Default: none. */
  readonly call?: ResolvedOptions;
}

/** How a replica's calls are executed; must be the same on all replicas. */
export interface ReplicaRouting extends Routing {
  /**
   * Number of components of the caller's value that each value of a replica is already the sum of.
   * The mean of sparse values divides by the number of all components. Default: 1.
   */
  readonly valuesEach?: number | undefined;
}

/**
 * Describes collectives on one replica's values, called from the replica's own thread. Adds
 * packing, sparse values and gathers of unequal lengths to a communicator with one local rank.
 * `drive` and `driveSync` run the returned work.
 */
export class ReplicaCollectives {
  readonly #communicator: Communicator;
  readonly #batches: RoutedBatches;
  readonly #copies: RoutedBatches;
  readonly #member: Member;
  readonly #views = new Views();
  readonly #small: SmallReduces;
  readonly #valuesEach: number;

  /** `routing` must be the same on all replicas. */
  constructor(communicator: Communicator, routing: ReplicaRouting = {}) {
    this.#communicator = communicator;
    this.#batches = new RoutedBatches(communicator.size, routing);
    this.#copies = new RoutedBatches(communicator.size, {});
    this.#member = {
      size: communicator.size,
      localRanks: communicator.localRanks,
      buffers: new ExchangeBuffers(),
    };
    this.#small = new SmallReduces(communicator);
    this.#valuesEach = routing.valuesEach ?? 1;
  }

  /**
   * Describes the call of the only local replica.
   * @throws NotImplementedError for `sharedResult`; ValueError if the engine refuses the collective
   */
  perform(
    { request, inputs, into, form, announced, purpose, isRepeated }: Batch,
    call: ResolvedOptions,
  ): Work<ValueLists> {
    if (this.#communicator.size > 1) refuseSharedResult(call);
    const [values, memory] = [inputs[0] as readonly Value[], into?.[0]];
    switch (request.kind) {
      case 'all-reduce': {
        const { options, deduplicate = false, names } = call;
        const { bytesPerPack } = options;
        const own = { bytesPerPack, into: memory, form, deduplicate, announced, purpose, names, isRepeated, call };
        return asLists(this.allReduce(collectiveOp(request.op), values, own));
      }
      case 'all-gather':
        return asLists(this.allGather(values as readonly Tensor[], request.axis, form, purpose));
      case 'broadcast':
        return asLists(this.broadcast(values as readonly Tensor[], request.root, memory, form, purpose, call.names));
    }
  }

  /**
   * Combines each value over all replicas. Dense values are reduced in packs that run concurrently.
   * With `bytesPerPack`, packs are filled by size from the last value to the first, because
   * gradients of the last layers arrive first; otherwise the routing determines the packs. Sparse
   * values are gathered after the dense ones.
   * @throws ValueError if the engine refuses the collective for a dtype, or for sparse values if
   * `op` is neither sum nor mean
   */
  allReduce(op: CollectiveOp, values: readonly Value[], options: ReplicaReduceOptions = {}): Work<readonly Value[]> {
    return this.#reduceSmall(op, values, options) ?? this.#reduceAny(op, values, options);
  }

  #reduceAny(op: CollectiveOp, values: readonly Value[], options: ReplicaReduceOptions): Work<readonly Value[]> {
    const whole = this.#compositionOf(op, values, options);
    if (values.some(isIndexedSlices))
      return { on: this.#communicator, phases: this.#reduceSparse(op, values, whole, options) };
    const dense = values as readonly Tensor[];
    const results = options.into ?? resultsFor(op, dense, undefined);
    const runs = this.#reductions(op, dense, results, whole, options);
    return { on: this.#communicator, runs, finish: () => results, isRepeatable: options.into !== undefined };
  }

  /** What ranks compare in an all-reduce. @throws ValueError if the engine refuses it */
  #compositionOf(op: CollectiveOp, values: readonly Value[], options: ReplicaReduceOptions): Composition {
    this.#requireReducible(op, values);
    const { form, announced } = options;
    const own = layoutOf(values, form);
    const layout = announced ? hashOf([own, ...announced]) : own;
    return { layout, valueCount: valuesIn(form ?? '', values.length) };
  }

  /** Reduces a copy of a small value on new memory, in memory that the engine knows; undefined for any other call. */
  #reduceSmall(
    op: CollectiveOp,
    values: readonly Value[],
    options: ReplicaReduceOptions,
  ): Work<readonly Value[]> | undefined {
    const { into, form = '', purpose, announced, bytesPerPack = 0, names, isRepeated, call } = options;
    const value = values[0] as Tensor;
    if (isRepeated || names || values.length !== 1 || !canBeCopied(op, value, into?.[0])) return undefined;
    const { timeoutSeconds = null, checkCalls = false } = call?.options ?? {};
    const request = { op, form, purpose, announced, bytesPerPack, timeoutSeconds, checkCalls };
    const results = into ?? resultsFor(op, [value], undefined);
    return this.#small.work([value], results, request, call, (copies) => {
      const whole = this.#compositionOf(op, copies, options);
      return this.#reductions(op, copies, copies, whole, options);
    });
  }

  /**
   * Concatenates each value of all replicas along an axis, in rank order. The size of that axis may
   * differ between replicas.
   */
  allGather(values: readonly Tensor[], axis: number, form = '', purpose?: Purpose): Work<Tensor[]> {
    const kinds = values.flatMap(({ dtype, shape }) => [dtypes.indexOf(dtype), shape.length]);
    const layout = hashOf([axis, ...kinds, layoutOf([], form)]);
    return {
      on: this.#communicator,
      phases: gatherAlong(this.#member, values, axis, { layout, valueCount: valuesIn(form, values.length) }, purpose),
    };
  }

  /**
   * Copies the root's values to every replica. On other replicas, only the shapes and dtypes of
   * `values` matter.
   */
  broadcast(
    values: readonly Tensor[],
    root: number,
    into?: readonly Tensor[],
    form = '',
    purpose?: Purpose,
    names?: ResolvedOptions['names'],
  ): Work<Tensor[]> {
    const collective: Collective = { kind: 'broadcast', root };
    const results = into ?? resultsFor(undefined, values, undefined);
    const whole = { layout: layoutOf(values, form), valueCount: valuesIn(form, values.length) };
    const runs = this.#copies.packsOf(values, 0).map(
      (pack): Run => ({
        collective,
        inputs: [this.#views.cut(values, pack.pieces)],
        outputs: [this.#views.cut(results, pack.pieces)],
        ...whole,
        values: partsWithIds(pack, names),
        request: purpose && requestOf(purpose, collective, values),
      }),
    );
    return { on: this.#communicator, runs, finish: () => [...results] };
  }

  *#reduceSparse(
    op: CollectiveOp,
    values: readonly Value[],
    whole: Composition,
    options: ReplicaReduceOptions,
  ): Phases<Value[]> {
    const split = splitBySparsity(values);
    const [dense, sparse] = [split.dense as readonly Tensor[], split.sparse as readonly IndexedSlices[]];
    const results = options.into ?? resultsFor(op, dense, undefined);
    const { deduplicate = false } = options;
    const agreed = yield* agreeOnSlices(this.#member, {
      op,
      sparse,
      deduplicate,
      valuesEach: this.#valuesEach,
      ...whole,
    });
    const names = split.denseIndices.map((index) => options.names?.[index] ?? index);
    yield this.#reductions(op, dense, results, whole, { ...options, names });
    const gathered = yield* gatherSlices(this.#member, agreed);
    return stitchValues<Value>([
      [results, split.denseIndices],
      [gathered, split.sparseIndices],
    ]);
  }

  /** The all-reduces of dense values, one per pack. */
  #reductions(
    op: CollectiveOp,
    values: readonly Tensor[],
    results: readonly Tensor[],
    whole: Composition,
    { bytesPerPack = 0, purpose, names }: ReplicaReduceOptions,
  ): Run[] {
    return this.#batches.packsOf(values, bytesPerPack).map((pack) => ({
      collective: { kind: 'all-reduce', op, variant: pack.variant },
      inputs: [this.#views.cut(values, pack.pieces)],
      outputs: [this.#views.cut(results, pack.pieces)],
      // Replicas with different packing would add up unrelated elements.
      layout: hashOf([whole.layout, pack.layout]),
      valueCount: whole.valueCount,
      values: partsWithIds(pack, names),
      request: purpose && requestOf(purpose, { kind: 'all-reduce', op }, values),
    }));
  }

  #requireReducible(op: CollectiveOp, values: readonly Value[]): void {
    const collective: Collective = { kind: 'all-reduce', op };
    let dtype: DType | undefined;
    for (const value of values) {
      let refused: string | undefined;
      if (!('data' in value)) {
        refused = refusedSparse(op);
      } else if (value.dtype !== dtype) {
        dtype = value.dtype;
        refused = this.#communicator.refuses(collective, dtype);
      }
      if (refused) throw new ValueError('ERR_COLL_REFUSED', `all-reduce: ${refused}`, { operation: 'all-reduce' });
    }
  }
}

/** A request of the library's own, for a collective on dense values. */
function requestOf(purpose: Purpose, collective: Collective, values: readonly Tensor[]): CallerRequest {
  const { dtype } = values[0] as Tensor;
  return { collective, dtype, length: values.reduce((sum, { data }) => sum + data.length, 0), purpose };
}

/** The work of one replica, as that of a list of replicas. */
function asLists(work: Work<readonly Value[]>): Work<ValueLists> {
  if ('runs' in work) return { ...work, finish: () => [work.finish()] };
  return { on: work.on, phases: alone(work.phases) };
}

function* alone(phases: Phases<readonly Value[]>): Phases<ValueLists> {
  return [yield* phases];
}

/**
 * @throws NotImplementedError if `sharedResult` is set, because replicas in separate threads cannot
 * share one result
 */
function refuseSharedResult({ sharedResult }: ResolvedOptions): void {
  if (!sharedResult) return;
  throw new NotImplementedError(
    'ERR_COLL_NOT_IMPLEMENTED',
    'sharedResult works only if one thread holds the values of all replicas; here each replica has its own result: omit sharedResult, or pass the memory for the result in the option into',
  );
}
