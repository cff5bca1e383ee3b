import type { Collective } from '../collectives/collective.js';
import type { ResolvedOptions } from '../runtime/call-options.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Run } from '../runtime/drive.js';
import { isList, type SegmentList } from '../runtime/segment-list.js';
import type { Tensor } from '../values/tensor.js';
import { JoinedBuffers } from './joined-buffers.js';
import { partsWithIds, type RoutedPack } from './routes.js';
import { Views } from './views.js';

// Passing an array to an engine takes longer than copying this many bytes.
const mostBytesPerValue = 256;
const leastValues = 8;

type Values = readonly (readonly Tensor[])[];

/** Prepares the packs of a batch. Packs of many small values are joined, which gives the same results. */
export class PackRunner {
  readonly #isLocal: boolean;
  readonly #localRanks: readonly number[];
  readonly #views = new Views();
  readonly #joined = new JoinedBuffers();

  constructor({ size, localRanks }: Communicator) {
    this.#isLocal = size === localRanks.length;
    this.#localRanks = localRanks;
  }

  /**
   * The collectives of all packs, given the values of each local rank and the memory of their
   * results. `separate` must be called when all collectives have ended. `isNew`: whether the caller
   * has not seen this memory yet. `names`: the names of the values. Default: their indices.
   */
  runsOf(
    collective: Extract<Collective, { kind: 'all-reduce' }>,
    packs: readonly RoutedPack[],
    [inputs, outputs]: readonly [Values, Values],
    isNew: boolean,
    names?: ResolvedOptions['names'],
  ): { readonly runs: readonly Run[]; separate(): void } {
    const separate: (() => void)[] = [];
    const { kind, op } = collective;
    const runs = packs.map((pack): Run => {
      const { pieces, variant, layout } = pack;
      const run = {
        collective: { kind, op, variant },
        inputs: inputs.map((values) => this.#views.cut(values, pieces)),
        outputs: outputs.map((results) => this.#views.cut(results, pieces)),
        layout,
        values: partsWithIds(pack, names),
      };
      // Ranks elsewhere must decide alike, and the engine checks memory that the caller has passed.
      if (!this.#isLocal || !isNew || !isSmall(run)) return run;
      const joined = this.#joined.join(run.collective, run, this.#localRanks);
      separate.push(joined.separate);
      return { ...run, inputs: joined.inputs, outputs: joined.outputs };
    });
    const separateAll = () => {
      for (const copy of separate) copy();
    };
    return { runs, separate: separateAll };
  }
}

interface SmallRun extends Run {
  readonly inputs: readonly SegmentList[];
  readonly outputs: readonly SegmentList[];
}

function isSmall(run: Run): run is SmallRun {
  const [input] = run.inputs;
  if (!input || !isList(input) || input.length < leastValues) return false;
  return input.reduce((sum, { data }) => sum + data.byteLength, 0) <= input.length * mostBytesPerValue;
}
