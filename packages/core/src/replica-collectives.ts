import { divide } from './arithmetic.js';
import type { Collective, CollectiveOp } from './collective.js';
import type { Communicator, RunOptions } from './communicator.js';
import { concatAlong, requireAxis } from './concat-along.js';
import { allocate, type DType, dtypes } from './dtype.js';
import { InvalidArgumentError, RuntimeError, ValueError } from './errors.js';
import { IndexedSlices } from './indexed-slices.js';
import { hashOf, layoutOf } from './layout.js';
import { slice, splitLike } from './packing/concatenate.js';
import { groupBySize } from './packing/group-by-size.js';
import { resultsFor } from './results.js';
import { type SplitValues, splitBySparsity, stitchValues, type Value } from './sparse.js';
import { copyElements, elementCount, reshape, sameShape, type Tensor, zeros } from './tensor.js';

export interface ReplicaReduceOptions {
  readonly bytesPerPack?: number;
  /** Where results are written, one a dense value, of its shape and the result's dtype; may be the values themselves. Default: new memory. */
  readonly into?: readonly Tensor[] | undefined;
}

/** A collective on one rank's memory, in pieces that stand for one buffer, that has to run before the work goes on. */
type Request = readonly [collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[]];

type Requests<Result> = Generator<Request, Result, undefined>;

/** A call: what it asks for, one after the other, and a number that all replicas have for the same call. */
interface Work<Result> {
  readonly layout: number;
  readonly requests: Requests<Result>;
}

/**
 * Collectives on one replica's values, from the replica's own thread: packing, sparse values and unequal gathers on top of
 * a communicator with one local rank. Each works synchronously and asynchronously from the same description.
 */
export class ReplicaCollectives {
  readonly #communicator: Communicator;
  readonly #packs = new Map<string, Tensor>();
  #tail: Promise<unknown> | undefined;

  constructor(communicator: Communicator) {
    this.#communicator = communicator;
  }

  /** Runs what a method below describes, waiting for each of its collectives: as one unit, after the calls made before it. */
  async run<Result>({ layout, requests }: Work<Result>, options?: RunOptions): Promise<Result> {
    const before = this.#tail;
    const mine = (async () => {
      await before?.catch(() => {});
      let next = requests.next();
      while (!next.done) {
        await this.#run(next.value, { ...options, layout });
        next = requests.next();
      }
      return next.value;
    })();
    this.#tail = mine;
    try {
      return await mine;
    } finally {
      if (this.#tail === mine) this.#tail = undefined;
    }
  }

  /** The same, blocking this thread. @throws RuntimeError while an asynchronous call is under way */
  runSync<Result>({ layout, requests }: Work<Result>, options?: RunOptions): Result {
    if (this.#tail) {
      throw new RuntimeError(
        'ERR_COLL_BUSY',
        'an asynchronous collective of this replica is still running; await it first',
      );
    }
    let next = requests.next();
    while (!next.done) {
      this.#runSync(next.value, { ...options, layout });
      next = requests.next();
    }
    return next.value;
  }

  /**
   * Combines each value over all replicas. Dense values go last first, in packs of one dtype and `bytesPerPack`, because the last
   * layers' gradients are there first; sparse ones follow one by one.
   */
  allReduce(op: CollectiveOp, values: readonly Value[], options?: ReplicaReduceOptions): Work<Value[]> {
    return { layout: layoutOf(values), requests: this.#reduceAll(op, values, options) };
  }

  /** Each value of all replicas joined along an axis, in rank order; that axis may differ between replicas. */
  allGather(values: readonly Tensor[], axis: number): Work<Tensor[]> {
    const kinds = values.flatMap(({ dtype, shape }) => [dtypes.indexOf(dtype), shape.length]);
    return { layout: hashOf([axis, ...kinds]), requests: this.#gatherAll(values, axis) };
  }

  /** The root's values on every replica. `values` are the root's, or on other replicas any of their shapes. */
  broadcast(values: readonly Tensor[], root: number, into?: readonly Tensor[]): Work<Tensor[]> {
    return { layout: layoutOf(values), requests: this.#broadcastAll(values, root, into) };
  }

  *#reduceAll(
    op: CollectiveOp,
    values: readonly Value[],
    { bytesPerPack = 0, into }: ReplicaReduceOptions = {},
  ): Requests<Value[]> {
    const split = splitBySparsity(values);
    const { dense, sparse } = split as SplitValues<never> as {
      dense: readonly Tensor[];
      sparse: readonly IndexedSlices[];
    };
    this.#requireReducible(op, dense, sparse);
    const results = resultsFor(op, dense, into);
    for (const pack of packsOf(dense, bytesPerPack))
      yield [{ kind: 'all-reduce', op }, tensorsAt(dense, pack), tensorsAt(results, pack)];
    if (sparse.length === 0) return results;
    const gathered: IndexedSlices[] = [];
    for (const slices of sparse) gathered.push(yield* this.#allReduceSparse(op, slices));
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

  *#gatherAll(values: readonly Tensor[], axis: number): Requests<Tensor[]> {
    for (const { shape } of values) requireAxis(axis, shape);
    const results: Tensor[] = [];
    for (const value of values) results.push(yield* this.#gatherAlong(value, axis));
    return results;
  }

  *#gatherAlong(value: Tensor, axis: number): Requests<Tensor> {
    const shapes = yield* this.#gatherEqual({
      data: Float64Array.from(value.shape),
      dtype: 'float64',
      shape: [value.shape.length],
      device: value.device,
    });
    const shapeOf = (rank: number) =>
      Array.from(slice(shapes, rank * value.shape.length, (rank + 1) * value.shape.length).data, Number);
    const ranks = Array.from({ length: this.#communicator.size }, (_, rank) => rank);
    const alike = (shape: readonly number[]) => sameShape(shape.with(axis, 0), value.shape.with(axis, 0));
    const odd = ranks.find((rank) => !alike(shapeOf(rank)));
    if (odd !== undefined) {
      const told = `all-gather along axis ${axis}: shape [${value.shape}] here, [${shapeOf(odd)}] on rank ${odd}; only that axis may differ`;
      throw new InvalidArgumentError('ERR_COLL_SHAPE_MISMATCH', told, { rank: odd, operation: 'all-gather' });
    }
    const parts = yield* this.#gatherUnequal(
      value,
      ranks.map((rank) => elementCount(shapeOf(rank))),
    );
    return concatAlong(
      parts.map((part, rank) => reshape(part, shapeOf(rank))),
      axis,
    );
  }

  *#broadcastAll(values: readonly Tensor[], root: number, into?: readonly Tensor[]): Requests<Tensor[]> {
    const results = resultsFor(undefined, values, into);
    const packs = this.#communicator.runPieces ? packsOf(values, 0) : values.map((_, index) => [index]);
    for (const pack of packs) yield [{ kind: 'broadcast', root }, tensorsAt(values, pack), tensorsAt(results, pack)];
    return results;
  }

  *#allReduceSparse(op: CollectiveOp, { values, indices, denseShape }: IndexedSlices): Requests<IndexedSlices> {
    const rows = yield* this.#gatherEqual({
      data: Float64Array.of(indices.data.length),
      dtype: 'float64',
      shape: [1],
      device: '',
    });
    const counts = Array.from(rows.data, Number);
    const rowLength = elementCount(values.shape.slice(1));
    const parts = yield* this.#gatherUnequal(
      values,
      counts.map((count) => count * rowLength),
    );
    const places = yield* this.#gatherUnequal(indices, counts);
    const joined = reshape(concatAlong(parts, 0), [
      counts.reduce((sum, count) => sum + count, 0),
      ...values.shape.slice(1),
    ]);
    return new IndexedSlices(
      op === 'mean' ? divide(joined, this.#communicator.size) : joined,
      concatAlong(places, 0),
      denseShape,
    );
  }

  *#gatherEqual(value: Tensor): Requests<Tensor> {
    const gathered = zeros(value.dtype, [value.data.length * this.#communicator.size], value.device);
    yield [{ kind: 'all-gather' }, [value], [gathered]];
    return gathered;
  }

  /** Pieces of unequal length travel padded to the longest, and are cut again. */
  *#gatherUnequal(value: Tensor, lengths: readonly number[]): Requests<Tensor[]> {
    const longest = Math.max(...lengths);
    const padded = zeros(value.dtype, [longest], value.device);
    copyElements(slice(padded, 0, value.data.length).data, value.data);
    const gathered = yield* this.#gatherEqual(padded);
    return lengths.map((length, rank) => slice(gathered, rank * longest, rank * longest + length));
  }

  #run([collective, inputs, outputs]: Request, options: RunOptions): Promise<void> {
    const communicator = this.#communicator;
    if (inputs.length === 1) return communicator.run(collective, inputs, outputs, options);
    if (communicator.runPieces) return communicator.runPieces(collective, [inputs], [outputs], options);
    const { input, output } = this.#join(inputs, outputs);
    return communicator.run(collective, [input], [output], options).then(() => separate(output, outputs));
  }

  #runSync([collective, inputs, outputs]: Request, options: RunOptions): void {
    const communicator = this.#communicator;
    if (inputs.length === 1) communicator.runSync(collective, inputs, outputs, options);
    else if (communicator.runPiecesSync) communicator.runPiecesSync(collective, [inputs], [outputs], options);
    else {
      const { input, output } = this.#join(inputs, outputs);
      communicator.runSync(collective, [input], [output], options);
      separate(output, outputs);
    }
  }

  /** One buffer with the elements of all pieces, and one for the results: the same where it has room for them. */
  #join(inputs: readonly Tensor[], outputs: readonly Tensor[]): { readonly input: Tensor; readonly output: Tensor } {
    const length = inputs.reduce((sum, { data }) => sum + data.length, 0);
    const [{ dtype }, { dtype: outputDType }] = [inputs[0] as Tensor, outputs[0] as Tensor];
    const input = this.#pack('input', dtype, length);
    splitLike(input, inputs).forEach((part, index) => {
      copyElements(part.data, (inputs[index] as Tensor).data);
    });
    return { input, output: outputDType === dtype ? input : this.#pack('output', outputDType, length) };
  }

  // Kept from call to call, and where the communicator needs no copy of it.
  #pack(purpose: string, dtype: DType, length: number): Tensor {
    const key = `${purpose} ${dtype}`;
    let kept = this.#packs.get(key);
    if (!kept || kept.data.length < length) {
      const room = Math.max(length, 2 * (kept?.data.length ?? 0));
      kept = this.#communicator.allocate?.(dtype, room) ?? {
        data: allocate(dtype, room),
        dtype,
        shape: [room],
        device: '',
      };
      this.#packs.set(key, kept);
    }
    return slice(kept, 0, length);
  }
}

/** Takes the results of a pack apart. */
function separate(pack: Tensor, results: readonly Tensor[]): void {
  splitLike(pack, results).forEach((part, index) => {
    copyElements((results[index] as Tensor).data, part.data);
  });
}

/** Positions of values that share a pack, last ones first; a pack holds one dtype. */
function packsOf(values: readonly Tensor[], bytesPerPack: number): number[][] {
  const byDType = new Map<DType, number[]>();
  for (let index = values.length - 1; index >= 0; index--) {
    const { dtype } = values[index] as Tensor;
    const alike = byDType.get(dtype);
    if (alike) alike.push(index);
    else byDType.set(dtype, [index]);
  }
  return [...byDType.values()].flatMap((alike) => {
    if (bytesPerPack === 0) return [alike];
    let next = 0;
    const packs = groupBySize(tensorsAt(values, alike), bytesPerPack);
    return packs.map(({ length }) => {
      next += length;
      return alike.slice(next - length, next);
    });
  });
}

function tensorsAt(values: readonly Tensor[], pack: readonly number[]): Tensor[] {
  return pack.map((index) => values[index] as Tensor);
}
