import { type Collective, type FindRoutes, type PackingOptions, type Tensor, ValueError } from '@coll/core';
import { deviceType, logFirst, variantOf } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { ringAlgorithm } from '@coll/ring';
import type { Workers } from '../workers.js';
import type { AllReduceSpec } from './all-reduce-spec.js';
import { formatSpec } from './format-spec.js';
import { groupCount, specAlgorithm } from './spec-algorithm.js';
import { misfitOfRanks, requireFit, usesNccl } from './spec-fit.js';

/** The unit of the size limits in an all-reduce specification. */
export type LimitUnit = 'elements' | 'bytes';

export interface SpecPlanOptions {
  readonly entries: readonly AllReduceSpec[];
  /**
   * The workers that take part. Default: one worker, with as many devices as a value has
   * components.
   */
  readonly workers?: Workers | undefined;
  readonly limitUnit: LimitUnit;
  readonly packing: Required<PackingOptions>;
}

/**
 * An entry of an all-reduce specification, and the index of one of the groups of devices on which
 * the entry can gather.
 */
export interface SpecVariant {
  readonly entry: AllReduceSpec;
  readonly group: number;
}

/**
 * An all-reduce specification for given workers: selects the entry for each value, and the schedule
 * of each variant. An entry has a variant for each group of devices on which it can gather.
 * Variants are numbered entry by entry.
 */
export class SpecPlan {
  readonly #options: SpecPlanOptions;
  readonly #notes = new Set<string>();
  readonly #variants = new Map<number, readonly SpecVariant[]>();

  /** @throws ValueError that names the entry, if the workers cannot execute it */
  constructor(options: SpecPlanOptions) {
    const { entries, workers = anyWorker } = options;
    for (const [index, entry] of entries.entries()) requireFit(entry, workers, titleOf(entry, index));
    this.#options = options;
  }

  /** The all-reduce specification and its packing, for the log. */
  toString(): string {
    const { packing } = this.#options;
    const { numPacks, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup } = packing;
    const packs = `numPacks ${numPacks}, aggSmallGradsMaxBytes ${aggSmallGradsMaxBytes}, aggSmallGradsMaxGroup ${aggSmallGradsMaxGroup}`;
    return `${this.specification}, ${packs}`;
  }

  /** Whether any entry of the all-reduce specification needs NCCL. */
  get usesNccl(): boolean {
    return this.#options.entries.some(usesNccl);
  }

  /**
   * Whether NCCL alone executes every entry of the all-reduce specification, without another
   * algorithm within or across workers.
   */
  get isNcclAlone(): boolean {
    const { entries, workers } = this.#options;
    return entries.every((entry) => entry.alg === 'nccl' || (usesNccl(entry) && (workers?.workers ?? 1) === 1));
  }

  /** The all-reduce specification as text. */
  get specification(): string {
    return formatSpec(this.#options.entries);
  }

  /**
   * Checks that the entries of the all-reduce specification can be executed if each worker is a
   * process.
   * @throws ValueError that names the entry, for `nccl` alone, which does not combine across
   * workers
   */
  requireLevels(): void {
    const { entries } = this.#options;
    const index = entries.findIndex(({ alg }) => alg === 'nccl');
    if (index < 0) return;
    const message = 'NCCL alone only connects the devices of this process: use nccl/xring, nccl/rechd or nccl/pscpu';
    throw new ValueError('ERR_COLL_REFUSED', `${titleOf(entries[index] as AllReduceSpec, index)}: ${message}`);
  }

  /**
   * Whether the components of a value may be in any order, because the result of no entry depends
   * on which worker holds a component.
   */
  get takesAnyOrder(): boolean {
    return this.#options.entries.every(({ alg }) => alg === 'nccl');
  }

  /** The workers that hold the components of a value with `ranks` components. */
  workersOf(ranks: number): Workers {
    return this.#options.workers ?? { workers: 1, gpusPerWorker: ranks };
  }

  /**
   * The variants of an all-reduce across `ranks` ranks, in the order of their numbers. A variant is
   * an entry of the specification with one of its groups of gathering devices.
   */
  variants(ranks: number): readonly SpecVariant[] {
    const known = this.#variants.get(ranks);
    if (known) return known;
    const workers = this.workersOf(ranks);
    const made = this.#options.entries.flatMap((entry) =>
      Array.from({ length: groupCount(entry, workers) }, (_, group) => ({ entry, group })),
    );
    this.#variants.set(ranks, made);
    return made;
  }

  /**
   * Notes for `explain()`: which devices combine values in place of gathering devices that hold no
   * component of a value.
   */
  get notes(): readonly string[] {
    return [...this.#notes];
  }

  /**
   * Selects the first entry of the all-reduce specification whose limit a value does not exceed.
   * The packs of an entry use the entry's groups of gathering devices in turn.
   */
  readonly routes: FindRoutes = (values, ranks) => {
    const { entries, limitUnit, packing } = this.#options;
    const takers = values.map((value) =>
      entries.findIndex(({ limit }) => limit < 0 || sizeOf(value, limitUnit) <= limit),
    );
    const variants = this.variants(ranks);
    return entries.flatMap((entry, number) => {
      const indices = [...takers.keys()].filter((index) => takers[index] === number);
      if (indices.length === 0) return [];
      this.#requireExecutable(entry, number, ranks);
      this.#noteStandIns(entry, values[indices[0] as number] as Tensor);
      const first = variants.findIndex((variant) => variant.entry === entry);
      const groups = variants.filter((variant) => variant.entry === entry).length;
      return [{ indices, packing, variant: (pack: number) => first + (pack % groups) }];
    });
  };

  /**
   * The algorithm of all collectives: an all-reduce uses the algorithm of its variant, all other
   * collectives use a ring.
   */
  get algorithm(): Algorithm {
    const others = ringAlgorithm();
    const algorithmOf = (collective: Collective, ranks: number): Algorithm | undefined => {
      if (collective.kind !== 'all-reduce') return others;
      const { entry, group } = this.variants(ranks)[variantOf(collective)] ?? {};
      return entry && specAlgorithm(entry, this.workersOf(ranks), group);
    };
    const refuses = (collective: Collective, ranks: number): string | undefined => {
      const algorithm = algorithmOf(collective, ranks);
      return algorithm
        ? algorithm.refuses?.(collective, ranks)
        : `unknown variant ${variantOf(collective)} of the collective`;
    };
    return {
      name: 'multi-worker',
      refuses,
      plan(collective, ranks) {
        const algorithm = algorithmOf(collective, ranks);
        if (algorithm) return algorithm.plan(collective, ranks);
        throw new ValueError('ERR_COLL_REFUSED', `unknown variant ${variantOf(collective)} of the collective`);
      },
    };
  }

  #requireExecutable(entry: AllReduceSpec, number: number, ranks: number): void {
    const title = titleOf(entry, number);
    const workers = this.workersOf(ranks);
    requireFit(entry, workers, title);
    const problem = misfitOfRanks(entry, workers, ranks);
    if (problem === undefined) return;
    throw new ValueError('ERR_COLL_REFUSED', `${title}: ${problem}`, { operation: 'all-reduce' });
  }

  /**
   * Adds a note for `explain()` if other devices replace gathering devices that hold no component,
   * because only devices with a component can combine.
   */
  #noteStandIns({ alg }: AllReduceSpec, { device }: Tensor): void {
    const [, gatherer] = /ps([cg]pu)$/.exec(alg) ?? [];
    if (gatherer === undefined || device === '' || deviceType(device) === gatherer.toUpperCase()) return;
    const cpu = 'the CPU of each worker, which holds no component, so that the first of its devices does it instead';
    const gpus = 'the GPUs of all workers, which hold no component, so other devices of the same workers do it instead';
    const note = `${alg} gathers on ${gatherer === 'cpu' ? cpu : gpus}`;
    if (!this.#notes.has(note) && gatherer === 'gpu') logFirst(1, note, 'info', `multi-worker: ${note}`);
    this.#notes.add(note);
  }
}

// The number of devices per worker is unknown before the first value, so numbers are checked then.
const anyWorker: Workers = { workers: 1, gpusPerWorker: Number.POSITIVE_INFINITY };

function sizeOf({ data }: Tensor, unit: LimitUnit): number {
  return unit === 'bytes' ? data.byteLength : data.length;
}

function titleOf({ alg }: AllReduceSpec, index: number): string {
  return `allReduceSpec entry ${index} (${alg})`;
}
