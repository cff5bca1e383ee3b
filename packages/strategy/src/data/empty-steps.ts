import { PerReplica, type Structure, zeros } from '@coll/core';
import { flatten, isDType, mapStructure } from '@coll/core/internal';
import { Batch, batchesOf, dispose, isTfTensor } from './batch.js';

/**
 * Steps without items, for a reader whose source ends before those of other readers. They have the
 * structure, dtypes and shapes of the first element that the reader has read, or of another
 * reader's description.
 */
export class EmptySteps {
  readonly #devices: readonly (string | undefined)[];
  readonly #join: (parts: readonly unknown[]) => unknown;
  #model: Structure<Batch> | undefined;
  #description: string | undefined;

  /**
   * `devices`: for each replica, the device of its tensors; undefined leaves the device unchanged.
   * `join` joins the parts of one batch, one per replica. Default: a `PerReplica`.
   */
  constructor(
    devices: readonly (string | undefined)[],
    join: (parts: readonly unknown[]) => unknown = (parts) => new PerReplica(parts),
  ) {
    this.#devices = devices;
    this.#join = join;
  }

  /** Describes the structure, and the dtype and shape of an item of each batch; undefined if unknown. */
  get description(): string | undefined {
    return this.#description;
  }

  /** Whether `make` can be called. */
  get canBeMade(): boolean {
    return this.#model !== undefined;
  }

  /** Keeps an empty copy of the first element, in memory of its own. */
  learn(batches: Structure<Batch>): void {
    if (this.#description !== undefined) return;
    this.#description = JSON.stringify(mapStructure(batches, ({ value, size }) => kindOf(value, size)));
    if (flatten(batches).every(({ size }) => size !== undefined))
      this.#model = mapStructure(batches, (batch) => new Batch(batch.empty()));
  }

  /**
   * Uses another reader's description.
   * @returns why this is impossible, as a phrase for the user; undefined if it is possible
   */
  learnFrom(description: string): string | undefined {
    const kinds = JSON.parse(description) as Structure<string>;
    const refused = flatten(kinds)
      .map(refusedKind)
      .find((why) => why !== undefined);
    if (refused === undefined) this.learn(batchesOf(mapStructure(kinds, emptyOfKind)));
    return refused;
  }

  /** A step without items, in memory of its own. */
  make(): Structure<unknown> {
    return mapStructure(this.#model as Structure<Batch>, (batch) =>
      this.#join(this.#devices.map((device) => batch.part(0, 0, device))),
    );
  }

  /** Frees the empty copy. */
  close(): void {
    if (this.#model) dispose(mapStructure(this.#model, ({ value }) => value));
    this.#model = undefined;
  }
}

/** What an empty batch of the same kind needs to be made in another process. */
function kindOf(value: unknown, size: number | undefined): string {
  if (size === undefined) return 'scalar';
  if (isTfTensor(value)) return 'tf';
  if (Array.isArray(value)) return 'list';
  if (ArrayBuffer.isView(value)) return (value as Uint8Array)[Symbol.toStringTag];
  const { dtype, shape } = new Batch(value).empty() as { readonly dtype: string; readonly shape: readonly number[] };
  return `${dtype} ${shape.join()}`;
}

function refusedKind(kind: string): string | undefined {
  if (kind === 'scalar') return 'a scalar cannot be empty; batch the dataset';
  if (kind === 'tf')
    return 'TensorFlow.js tensors of an unknown source cannot be made; give each reader at least one element';
  if (emptyOfKind(kind) !== undefined) return undefined;
  return `${kind} does not exist in this version of JavaScript`;
}

function emptyOfKind(kind: string): unknown {
  if (kind === 'list') return [];
  const [dtype, shape] = kind.split(' ');
  if (shape !== undefined) return isDType(dtype) ? zeros(dtype, shape.split(',').map(Number)) : undefined;
  const Kind = (globalThis as unknown as Record<string, new (length: number) => unknown>)[kind];
  return Kind && new Kind(0);
}
