import type { CallerRequest } from '../caller-request.js';
import type { Collective } from '../collective.js';
import type { Piece } from '../packing/arrangement.js';
import type { Tensor } from '../tensor.js';

/** Pieces of tensors that go together, and a number for what makes them so: ranks must agree on it. */
interface RequestedPack {
  readonly pieces: readonly Piece[];
  readonly layout?: number;
}

/** A collective on one rank's memory: on a pack of the tensors, or on the one tensor that there is. `part`: where it is a part of something larger, of what. */
export type Request = readonly [
  collective: Collective,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  pack?: RequestedPack | undefined,
  part?: CallerRequest,
];

/** Work of a replica: lists of collectives that start together, in this order, and have to end before the work goes on; then a result. */
export type Requests<Result> = Generator<readonly Request[], Result, undefined>;
