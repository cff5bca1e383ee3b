import type { ValuePart } from '../runtime/communicator.js';
import { AssertionError } from '../support/errors.js';
import { hashOf } from '../values/layout.js';
import { sameShape, type Tensor } from '../values/tensor.js';
import { arrange, type PackingOptions, type Piece } from './arrangement.js';

/**
 * Values of a batch that share packs, with their packing and the algorithm variant of each pack.
 */
export interface Route {
  /** Indices of the values on this route; each value of a batch is on exactly one route. */
  readonly indices: readonly number[];
  readonly packing: PackingOptions;
  /**
   * The algorithm variant for a pack, given the pack's index within the route. Default: variant 0.
   */
  variant?(pack: number): number;
}

/**
 * Chooses the routes of a batch, given the values of the first device or of this replica. Must be a
 * pure function of dtypes and shapes, so that all ranks get the same routes.
 */
export type FindRoutes = (values: readonly Tensor[], ranks: number) => readonly Route[];

/** How batches are packed and executed. */
export interface Routing {
  /**
   * Chooses how the values of a batch are grouped and packed. Default: all values in one group,
   * packed by `packing`.
   */
  readonly routes?: FindRoutes | undefined;
  readonly packing?: PackingOptions | undefined;
}

/** The contents of one all-reduce of a batch. */
export interface RoutedPack {
  readonly pieces: readonly Piece[];
  readonly variant: number;
  /** A hash of the pieces, the shapes of their values, and the variant. */
  readonly layout: number;
  /** The pieces as parts of values, whose ids are their indices. */
  readonly values: readonly ValuePart[];
}

/** A batch seen before: the dtypes and shapes of its values, and its packs. */
interface KnownBatch {
  readonly values: readonly Pick<Tensor, 'dtype' | 'shape'>[];
  readonly bytesPerPack: number;
  readonly packs: readonly RoutedPack[];
}

// Maximum number of cached batches. A training step has one batch of gradients, or a few.
const mostBatches = 8;

/** Caches the packs of recurring batches. */
export class RoutedBatches {
  readonly #ranks: number;
  readonly #routing: Routing;
  readonly #known: KnownBatch[] = [];

  constructor(ranks: number, routing: Routing) {
    this.#ranks = ranks;
    this.#routing = routing;
  }

  /** Like `routedPacks`, but cached. */
  packsOf(values: readonly Tensor[], bytesPerPack: number): readonly RoutedPack[] {
    for (const known of this.#known) {
      if (known.bytesPerPack === bytesPerPack && isAlike(known.values, values)) return known.packs;
    }
    const packs = routedPacks(values, this.#ranks, this.#routing, bytesPerPack);
    if (this.#known.length === mostBatches) this.#known.shift();
    this.#known.push({ values: values.map(({ dtype, shape }) => ({ dtype, shape })), bytesPerPack, packs });
    return packs;
  }
}

function isAlike(known: KnownBatch['values'], values: readonly Tensor[]): boolean {
  if (known.length !== values.length) return false;
  for (let index = 0; index < known.length; index++) {
    const [one, other] = [known[index] as KnownBatch['values'][number], values[index] as Tensor];
    if (one.dtype !== other.dtype || !sameShape(one.shape, other.shape)) return false;
  }
  return true;
}

/**
 * All packs of a batch, in the order in which they start.
 * @throws AssertionError if a value is on no route, or on several
 */
export function routedPacks(
  values: readonly Tensor[],
  ranks: number,
  { routes, packing = {} }: Routing,
  bytesPerPack: number,
): RoutedPack[] {
  const found = routes?.(values, ranks) ?? [{ indices: [...values.keys()], packing }];
  requireEach(values.length, found);
  return found.flatMap(({ indices, packing: own, variant }: Route) => {
    const packs = arrange(
      indices.map((index) => values[index] as Tensor),
      own,
      bytesPerPack,
    );
    return packs.map(({ number, pieces }) => {
      const placed = pieces.map((piece) => ({ ...piece, index: indices[piece.index] as number }));
      const chosen = variant?.(number) ?? 0;
      const cuts = placed.flatMap(({ index, begin, end }) => [index, begin, end, ...(values[index] as Tensor).shape]);
      const layout = hashOf([chosen, ...cuts]);
      return { pieces: placed, variant: chosen, layout, values: partsOf(placed) };
    });
  });
}

function partsOf(pieces: readonly Piece[]): readonly ValuePart[] {
  let offset = 0;
  return pieces.map(({ index, begin, end }) => {
    const part = { id: index, begin, offset, length: end - begin };
    offset += part.length;
    return part;
  });
}

/** The parts of values that a pack consists of, given the ids of all values. Default: their indices. */
export function partsWithIds(
  { values }: RoutedPack,
  ids: readonly ValuePart['id'][] | undefined,
): readonly ValuePart[] {
  return ids ? values.map((part) => ({ ...part, id: ids[part.id as number] as ValuePart['id'] })) : values;
}

function requireEach(count: number, routes: readonly Route[]): void {
  const indices = routes.flatMap((route) => route.indices);
  const isEach = indices.length === count && new Set(indices).size === count && indices.every((index) => index < count);
  if (isEach) return;
  const message = `routes must contain each of the ${count} values once, got [${indices}]`;
  throw new AssertionError('ERR_COLL_INTERNAL', message, { operation: 'all-reduce' });
}
