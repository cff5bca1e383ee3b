import type { Collective } from '../collective.js';
import type { Communicator, RunOptions, Segments } from '../communicator.js';
import type { Tensor } from '../tensor.js';
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

/** Runs collectives on packs of tensors, as segments of each rank's buffer: nothing is copied here. */
export class PackRunner {
  readonly #communicator: Communicator;
  readonly #views = new Views();

  constructor(communicator: Communicator) {
    this.#communicator = communicator;
  }

  /** Starts a collective; those started before it need not have ended. */
  run({ collective, inputs, outputs, pieces }: PackRun, options?: RunOptions): Promise<void> {
    return this.#communicator.run(collective, this.#cut(inputs, pieces), this.#cut(outputs, pieces), options);
  }

  /** The same, blocking the thread. */
  runSync({ collective, inputs, outputs, pieces }: PackRun, options?: RunOptions): void {
    this.#communicator.runSync(collective, this.#cut(inputs, pieces), this.#cut(outputs, pieces), options);
  }

  #cut(lists: Lists, pieces: readonly Piece[] | undefined): readonly Segments[] {
    if (!pieces) return lists.map(first);
    const [single, ...others] = pieces as readonly [Piece, ...Piece[]];
    if (others.length === 0) return lists.map((tensors) => this.#view(tensors, single));
    return lists.map((tensors) => pieces.map((piece) => this.#view(tensors, piece)));
  }

  #view(tensors: readonly Tensor[], { index, begin, end }: Piece): Tensor {
    return this.#views.of(tensors[index] as Tensor, begin, end);
  }
}

function first<Item>(list: readonly Item[]): Item {
  return list[0] as Item;
}
