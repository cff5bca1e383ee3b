import type { Collective } from '../collective.js';
import type { Communicator, RunOptions } from '../communicator.js';
import { allocate, type DType } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import { JoinedPieces } from '../threads/joined-pieces.js';
import type { Piece } from './arrangement.js';
import { Views } from './views.js';

/** One list of tensors for each local rank. */
type Lists = readonly (readonly Tensor[])[];

/** A collective on pieces of each rank's tensors, or, without pieces, on the one tensor that each has. */
export interface PackRun {
  readonly collective: Collective;
  readonly inputs: Lists;
  readonly outputs: Lists;
  readonly pieces?: readonly Piece[] | undefined;
}

/** A pack whose pieces were copied together, and where its results go when it is done. */
interface Joined {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  separate(): void;
}

/**
 * Runs collectives on packs of tensors: as pieces, without a copy, where the communicator takes them, else joined in memory that is
 * kept for packs to come.
 */
export class PackRunner {
  readonly #communicator: Communicator;
  readonly #views = new Views();
  /** Memory that no pack is in, by dtype. */
  readonly #free = new Map<DType, Tensor[]>();

  constructor(communicator: Communicator) {
    this.#communicator = communicator;
  }

  /** Starts a collective; those started before it need not have ended. */
  run(run: PackRun, options?: RunOptions): Promise<void> {
    const communicator = this.#communicator;
    const { collective } = run;
    const { from, into, isWhole } = this.#cut(run);
    if (isWhole) return communicator.run(collective, from.map(first), into.map(first), options);
    if (communicator.runPieces) return communicator.runPieces(collective, from, into, options);
    return this.#runJoined(collective, from, into, options);
  }

  /** The same, blocking the thread. */
  runSync(run: PackRun, options?: RunOptions): void {
    const communicator = this.#communicator;
    const { collective } = run;
    const { from, into, isWhole } = this.#cut(run);
    if (isWhole) communicator.runSync(collective, from.map(first), into.map(first), options);
    else if (communicator.runPiecesSync) communicator.runPiecesSync(collective, from, into, options);
    else {
      const joined = this.#join(from, into);
      communicator.runSync(collective, joined.inputs, joined.outputs, options);
      joined.separate();
    }
  }

  async #runJoined(collective: Collective, from: Lists, into: Lists, options?: RunOptions): Promise<void> {
    const joined = this.#join(from, into);
    await this.#communicator.run(collective, joined.inputs, joined.outputs, options);
    joined.separate();
  }

  #cut({ inputs, outputs, pieces }: PackRun) {
    if (!pieces) return { from: inputs, into: outputs, isWhole: true };
    const cut = (lists: Lists) =>
      lists.map((tensors) =>
        pieces.map(({ index, begin, end }) => this.#views.of(tensors[index] as Tensor, begin, end)),
      );
    return { from: cut(inputs), into: cut(outputs), isWhole: pieces.length === 1 };
  }

  #join(from: Lists, into: Lists): Joined {
    const rooms: Tensor[] = [];
    const take = (like: readonly Tensor[]): Tensor => {
      const { length } = new JoinedPieces(like);
      const room = this.#take(first(like).dtype, length);
      rooms.push(room);
      return { ...this.#views.of(room, 0, length), device: first(like).device };
    };
    const inputs = from.map(take);
    inputs.forEach(({ data }, rank) => {
      new JoinedPieces(from[rank] as readonly Tensor[]).copyTo(data, 0, data.length);
    });
    const isShared = into.length > 1 && first(into[1] as readonly Tensor[]).data === first(first(into)).data;
    // What all ranks share must not be what one of them reads.
    const isInPlace = !isShared && first(first(from)).dtype === first(first(into)).dtype;
    const results = isShared ? into.slice(0, 1) : into;
    const own = isInPlace ? inputs : results.map(take);
    const separate = () => {
      results.forEach((pieces, rank) => {
        const { data } = own[rank] as Tensor;
        new JoinedPieces(pieces).copyFrom(data, 0, data.length);
      });
      for (const room of rooms) this.#giveBack(room);
    };
    return { inputs, outputs: isShared ? into.map(() => first(own)) : own, separate };
  }

  #take(dtype: DType, length: number): Tensor {
    const free = this.#free.get(dtype) ?? [];
    const fitting = free.findIndex(({ data }) => data.length >= length);
    if (fitting >= 0) return free.splice(fitting, 1)[0] as Tensor;
    // Doubling bounds what outgrown memory wastes: a communicator does not take its own back.
    const room = Math.max(length, 2 * Math.max(0, ...free.map(({ data }) => data.length)));
    const made = this.#communicator.allocate?.(dtype, room);
    return made ?? { data: allocate(dtype, room), dtype, shape: [room], device: '' };
  }

  #giveBack(room: Tensor): void {
    const free = this.#free.get(room.dtype);
    if (free) free.push(room);
    else this.#free.set(room.dtype, [room]);
  }
}

function first<Item>(list: readonly Item[]): Item {
  return list[0] as Item;
}

/** Waits for all that was started, even where something fails, because until then the rest uses the caller's memory. @throws the first error */
export async function untilAllHaveEnded(started: readonly Promise<void>[]): Promise<void> {
  if (started.length === 1) return started[0];
  const failed = (await Promise.allSettled(started)).find((outcome) => outcome.status === 'rejected');
  if (failed) throw failed.reason;
}
