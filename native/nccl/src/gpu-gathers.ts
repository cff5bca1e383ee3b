import {
  type Destinations,
  type DistributedValues,
  type DType,
  IndexedSlices,
  InternalError,
  type PossiblyMirrored,
  type ReadyPair,
  type RunOptions,
  type Tensor,
  type Value,
} from '@coll/core';
import { devicesMatch, divide, mirror, quotientOf } from '@coll/core/plugin';
import { bufferOf, DeviceBuffer, isOnGpu } from './device-buffer.js';
import { isKnown } from './element-types.js';
import type { GpuRanks } from './gpu-groups.js';
import { haveGpuEach } from './gpu-memory.js';
import { isValueOnGpu } from './host-values.js';
import { joinParts, type Parts } from './joined-parts.js';
import { divided } from './passage.js';

/** The dtype and shape of a tensor. */
interface Form {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/**
 * The data that a process publishes about its part of a value, so that all processes decide alike
 * whether NCCL joins the parts.
 */
interface Card {
  /**
   * For each component: the dtype and shape of its tensor, or those of its rows and of its indices.
   */
  readonly forms: readonly (readonly Form[])[];
  readonly denseShape?: readonly number[] | undefined;
  /** Whether the components are on different GPUs and the result goes to the same GPUs. */
  readonly fits: boolean;
  readonly isOnGpu: boolean;
}

/**
 * A value whose components are joined along an axis: the tensors of each component, and the data
 * that this process publishes about them.
 */
interface Joining {
  readonly components: readonly (readonly Tensor[])[];
  readonly devices: readonly string[];
  readonly axis: number;
  readonly card: Card;
}

interface Joined {
  /**
   * The joined tensors (one, or two for sparse values: rows and indices), each as a list with one
   * copy per local rank.
   */
  readonly tensors: readonly (readonly Tensor[])[];
  /** Number of components on all processes. */
  readonly components: number;
  readonly denseShape: readonly number[] | undefined;
}

/**
 * Joins values on GPUs by NCCL. Returns undefined for a value that NCCL cannot join; the result is
 * undefined on all processes or on none.
 */
export class GpuGathers {
  readonly #ranks: GpuRanks;

  constructor(ranks: GpuRanks) {
    this.#ranks = ranks;
  }

  /**
   * Joins the components of a value along an axis. Each GPU of the value gets a copy of the result.
   */
  async gather(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    options: RunOptions,
  ): Promise<PossiblyMirrored<Tensor> | undefined> {
    const components = value.values.map((tensor) => [tensor]);
    const [joined] = await this.#join([joiningOf(value, components, destinations, axis)], options);
    return joined && mirror(joined.tensors[0] as readonly Tensor[]);
  }

  /**
   * Joins the rows and indices of each value's components, in order; a mean divides the rows by the
   * number of components. All values must be on the same devices.
   */
  async joinSlices(
    op: 'SUM' | 'MEAN',
    pairs: readonly ReadyPair[],
    options: RunOptions,
  ): Promise<readonly (PossiblyMirrored | undefined)[]> {
    const joinings = pairs.map(([value, destinations]) => {
      const components = (value.values as readonly IndexedSlices[]).map(({ values, indices }) => [values, indices]);
      return joiningOf(value, components, destinations, 0);
    });
    const joined = await this.#join(joinings, options);
    return Promise.all(joined.map(async (each) => each && slicesOf(op, each)));
  }

  async #join(joinings: readonly Joining[], options: RunOptions): Promise<readonly (Joined | undefined)[]> {
    const [{ devices }] = joinings as readonly [Joining];
    const line = JSON.stringify(joinings.map(({ card }) => card));
    return this.#ranks.meet(devices, line, options, async (lines, open) => {
      const cards = lines.map((text) => JSON.parse(text) as Card[]);
      requireAsMany(cards.map(({ length }) => length));
      const asked = joinings.map((joining, at) =>
        askedOf(
          joining,
          cards.map((own) => own[at] as Card),
        ),
      );
      const all = asked.flatMap((each) => each?.parts ?? []);
      const tensors = all.length > 0 ? [...(await joinParts(await open(), all, options))] : [];
      return asked.map((each) => each && { ...each, tensors: tensors.splice(0, each.parts.length) });
    });
  }
}

/**
 * Checks that all processes gather the same number of values.
 * @throws InternalError otherwise, the same on all processes
 */
function requireAsMany(counts: readonly number[]): void {
  const odd = counts.findIndex((count) => count !== counts[0]);
  if (odd < 0) return;
  const message = `process 0 gathers ${counts[0]} values, process ${odd} gathers ${counts[odd]}; all processes must make the same calls`;
  throw new InternalError('ERR_COLL_MISMATCH', `join: ${message}`, { operation: 'join', rank: odd });
}

function joiningOf(
  value: DistributedValues<Value>,
  components: readonly (readonly Tensor[])[],
  destinations: Destinations,
  axis: number,
): Joining {
  const { values, devices, primary } = value;
  const isSparse = primary instanceof IndexedSlices;
  const card = {
    forms: components.map((tensors) => tensors.map(({ dtype, shape }) => ({ dtype, shape }))),
    denseShape: isSparse ? primary.denseShape : undefined,
    // Slices of a dtype unknown to NCCL are left to the host, which may refuse them.
    fits: haveGpuEach(devices) && devicesMatch(value, destinations) && (!isSparse || isKnown(primary.dtype)),
    isOnGpu: values.some(isValueOnGpu),
  };
  return { components, devices, axis, card };
}

/**
 * The parts of a value that NCCL joins, computed from the published data of all processes.
 * Undefined if other ops must gather the value, which throw if the value cannot be joined at all.
 */
function askedOf({ components, axis }: Joining, cards: readonly Card[]) {
  const forms = cards.flatMap((card) => card.forms);
  const isForNccl = cards.every(({ fits }) => fits) && cards.some(({ isOnGpu }) => isOnGpu);
  if (!isForNccl || !areJoinable(forms, axis)) return undefined;
  const parts = (forms[0] as readonly Form[]).map((_, part): Parts => {
    const own = components.map((tensors) => tensors[part] as Tensor);
    return { own, shapes: forms.map((form) => (form[part] as Form).shape), axis };
  });
  return { parts, components: forms.length, denseShape: cards[0]?.denseShape };
}

function areJoinable(forms: readonly (readonly Form[])[], axis: number): boolean {
  const hasAxis = ({ shape }: Form) => Number.isInteger(axis) && axis >= 0 && axis < shape.length;
  const restOf = (form: readonly Form[]) =>
    JSON.stringify(form.map(({ dtype, shape }) => [dtype, shape.with(axis, 0)]));
  return forms.every((form) => form.every(hasAxis) && restOf(form) === restOf(forms[0] as readonly Form[]));
}

async function slicesOf(op: 'SUM' | 'MEAN', { tensors, components, denseShape }: Joined): Promise<PossiblyMirrored> {
  const [rows, indices] = tensors as readonly [readonly Tensor[], readonly Tensor[]];
  const results = op === 'MEAN' ? await Promise.all(rows.map((own) => meanOf(own, components))) : rows;
  return mirror(results.map((own, place) => new IndexedSlices(own, indices[place] as Tensor, denseShape)));
}

/**
 * Divides rows on the GPU or on the host, depending on their memory. On the GPU, floats are divided
 * in place, and the result of integers is in new memory.
 */
async function meanOf(rows: Tensor, divisor: number): Promise<Tensor> {
  if (!isOnGpu(rows)) return divide(rows, divisor);
  const sum = bufferOf(rows);
  const dtype = quotientOf(sum.dtype);
  const mean = dtype === sum.dtype ? sum : DeviceBuffer.allocate(sum.memory.device, dtype, sum.length);
  await divided(sum.memory.binding, mean, sum, divisor);
  if (mean !== sum) sum.dispose();
  return mean.tensor(rows.shape, rows.device);
}
