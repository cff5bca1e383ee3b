import type { Collective, CollectiveOp } from '../collective.js';
import type { Communicator, RunOptions } from '../communicator.js';
import { dtypes } from '../dtype.js';
import { RuntimeError, ValueError } from '../errors.js';
import { hashOf, layoutOf } from '../layout.js';
import { OneByOne } from '../one-by-one.js';
import { arrange } from '../packing/arrangement.js';
import { type PackRun, PackRunner } from '../packing/pack-runner.js';
import { RoutedBatches, type Routing } from '../packing/routes.js';
import { untilAllHaveEnded } from '../packing/until-all-have-ended.js';
import { resultsFor } from '../results.js';
import type { IndexedSlices } from '../sparse/indexed-slices.js';
import { type SplitValues, splitBySparsity, stitchValues, type Value } from '../sparse/sparse.js';
import type { Tensor } from '../tensor.js';
import { gatherAlong } from './replica-gathers.js';
import type { Request, Requests } from './replica-requests.js';
import { agreeOnSlices, gatherSlices } from './replica-sparse.js';

export interface ReplicaReduceOptions {
  readonly bytesPerPack?: number;
  /** Where results are written, one a dense value, of its shape and the result's dtype; may be the values themselves. Default: new memory. */
  readonly into?: readonly Tensor[] | undefined;
  /** Of the structure that the values were taken from, which all replicas have alike. */
  readonly form?: string;
  /** Whether rows of one index are added up in sparse results. */
  readonly deduplicate?: boolean;
}

/** How calls of a replica are played, the same on all of them. */
export interface ReplicaRouting extends Routing {
  /** How many values of the caller's each value of a replica stands for: a mean of sparse ones is divided by all of these. Default: 1. */
  readonly valuesEach?: number | undefined;
}

/** A call: what it asks for, one after the other, and a number that all replicas have for the same call. */
export interface Work<Result> {
  readonly layout: number;
  readonly requests: Requests<Result>;
}

/** The right to play while others wait. */
export interface Turn {
  readonly begun: Promise<Play>;
  end(): void;
}

/** Runs a call without waiting for others. */
export type Play = <Result>(work: Work<Result>, options?: RunOptions) => Promise<Result>;

/**
 * Collectives on one replica's values, from the replica's own thread: packing, sparse values and unequal gathers on top of
 * a communicator with one local rank. Each works synchronously and asynchronously from the same description.
 */
export class ReplicaCollectives {
  readonly #communicator: Communicator;
  readonly #batches: RoutedBatches;
  readonly #runner: PackRunner;
  readonly #valuesEach: number;
  readonly #turns = new OneByOne();

  /** `routing` is the same on all replicas. */
  constructor(communicator: Communicator, routing: ReplicaRouting = {}) {
    this.#communicator = communicator;
    this.#batches = new RoutedBatches(communicator.size, routing);
    this.#runner = new PackRunner(communicator);
    this.#valuesEach = routing.valuesEach ?? 1;
  }

  /** Runs what a method below describes, waiting for each of its collectives: as one unit, after the calls made before it. */
  run<Result>(work: Work<Result>, options?: RunOptions): Promise<Result> {
    return this.#turns.run(() => this.#play(work, options));
  }

  /** A turn after those that were taken before, for as long as its holder likes: calls made from now on wait until it is given up. */
  takeTurn(): Turn {
    const { begun, end } = this.#turns.takeTurn();
    return { begun: begun.then((): Play => (work, options) => this.#play(work, options)), end };
  }

  /** The same, blocking this thread. @throws RuntimeError while an asynchronous call is under way */
  runSync<Result>({ layout, requests }: Work<Result>, options?: RunOptions): Result {
    if (this.#turns.latest) {
      throw new RuntimeError(
        'ERR_COLL_BUSY',
        'an asynchronous collective of this replica is still running; await it first',
      );
    }
    let next = requests.next();
    while (!next.done) {
      for (const request of next.value) this.#runSync(request, { ...options, layout });
      next = requests.next();
    }
    return next.value;
  }

  /**
   * Combines each value over all replicas. Dense values go in packs, all under way at the same time: of `bytesPerPack`, last values first, because
   * the last layers' gradients are there first, or as their routes say. Sparse ones follow one by one.
   */
  allReduce(op: CollectiveOp, values: readonly Value[], options?: ReplicaReduceOptions): Work<Value[]> {
    return { layout: layoutOf(values, options?.form), requests: this.#reduceAll(op, values, options) };
  }

  /** Each value of all replicas joined along an axis, in rank order; that axis may differ between replicas. */
  allGather(values: readonly Tensor[], axis: number, form = ''): Work<Tensor[]> {
    const kinds = values.flatMap(({ dtype, shape }) => [dtypes.indexOf(dtype), shape.length]);
    const layout = hashOf([axis, ...kinds, layoutOf([], form)]);
    return { layout, requests: gatherAlong(this.#communicator, values, axis) };
  }

  /** The root's values on every replica. `values` are the root's, or on other replicas any of their shapes. */
  broadcast(values: readonly Tensor[], root: number, into?: readonly Tensor[], form = ''): Work<Tensor[]> {
    return { layout: layoutOf(values, form), requests: this.#broadcastAll(values, root, into) };
  }

  async #play<Result>({ layout, requests }: Work<Result>, options?: RunOptions): Promise<Result> {
    let next = requests.next();
    while (!next.done) {
      await this.#runAll(next.value, { ...options, layout });
      next = requests.next();
    }
    return next.value;
  }

  *#reduceAll(
    op: CollectiveOp,
    values: readonly Value[],
    { bytesPerPack = 0, into, deduplicate = false }: ReplicaReduceOptions = {},
  ): Requests<Value[]> {
    const split = splitBySparsity(values);
    const { dense, sparse } = split as SplitValues<never> as {
      dense: readonly Tensor[];
      sparse: readonly IndexedSlices[];
    };
    this.#requireReducible(op, dense, sparse);
    const results = resultsFor(op, dense, into);
    const request = { op, sparse, deduplicate, valuesEach: this.#valuesEach };
    const agreed = sparse.length > 0 ? yield* agreeOnSlices(this.#communicator, request) : undefined;
    const packs = this.#batches.packsOf(dense, bytesPerPack);
    yield packs.map((pack): Request => [{ kind: 'all-reduce', op, variant: pack.variant }, dense, results, pack]);
    if (!agreed) return results;
    const gathered = yield* gatherSlices(this.#communicator, agreed);
    return stitchValues<Value>([
      [results, split.denseIndices],
      [gathered, split.sparseIndices],
    ]);
  }

  #requireReducible(op: CollectiveOp, dense: readonly Tensor[], sparse: readonly IndexedSlices[]): void {
    const collective: Collective = { kind: 'all-reduce', op };
    const refused =
      sparse.length > 0 && op !== 'sum' && op !== 'mean'
        ? `indexed slices have a sum and a mean, but no ${op}: make them dense first`
        : [...new Set(dense.map(({ dtype }) => dtype))]
            .map((dtype) => this.#communicator.refuses(collective, dtype))
            .find((reason) => reason !== undefined);
    if (refused) throw new ValueError('ERR_COLL_REFUSED', `all-reduce: ${refused}`, { operation: 'all-reduce' });
  }

  *#broadcastAll(values: readonly Tensor[], root: number, into?: readonly Tensor[]): Requests<Tensor[]> {
    const results = resultsFor(undefined, values, into);
    const packs = arrange(values);
    yield packs.map((pack): Request => [{ kind: 'broadcast', root }, values, results, pack]);
    return results;
  }

  /** Waits for all of them, even where one fails: until then the others use the caller's memory. */
  #runAll(requests: readonly Request[], options: RunOptions): Promise<void> {
    return untilAllHaveEnded(requests.map((request) => this.#runner.run(runOf(request), optionsFor(request, options))));
  }

  #runSync(request: Request, options: RunOptions): void {
    this.#runner.runSync(runOf(request), optionsFor(request, options));
  }
}

function runOf([collective, inputs, outputs, pack]: Request): PackRun {
  return { collective, inputs: [inputs], outputs: [outputs], pieces: pack?.pieces };
}

/** Replicas that pack otherwise would add up what does not belong together. */
function optionsFor([, , , pack, request]: Request, options: RunOptions): RunOptions {
  const own = request ? { ...options, request } : options;
  return pack?.layout === undefined ? own : { ...own, layout: hashOf([options.layout ?? 0, pack.layout]) };
}
