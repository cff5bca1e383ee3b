import type { TypedArray } from '@coll/core';

declare const kind: unique symbol;

/** A C++ object owned by a JavaScript value, which frees it. */
export interface Held<Kind extends string> {
  readonly [kind]: Kind;
}

export type ProgramHandle = Held<'program'>;
export type OfferHandle = Held<'offer'>;
export type OffersHandle = Held<'offers'>;
export type MemberHandle = Held<'member'>;
export type ControllerHandle = Held<'controller'>;

export type Segments = readonly TypedArray[];

/** Two ranks with overlapping memory: the output of `rank` overlaps a buffer of `other`. */
export type Clash = readonly [rank: number, other: number];

/**
 * What a rank requests in one collective. `begins`: the index of the first element of each piece in
 * the whole buffer, followed by the length of the buffer; `sharesResult`: whether all outputs may
 * use the same memory; `agreed`: values that must be equal on all ranks.
 */
export type Offering = readonly [
  program: ProgramHandle,
  rank: number,
  begins: Float64Array,
  inputs: Segments,
  outputs: Segments,
  sharesResult: boolean,
  agreed: Float64Array,
];

/** The requests of all ranks, as in `Offering`, with the buffers of each rank. */
export type OfferingOfAll = readonly [
  program: ProgramHandle,
  begins: Float64Array,
  inputs: readonly Segments[],
  outputs: readonly Segments[],
  sharesResult: boolean,
];
