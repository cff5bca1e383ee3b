import type { TypedArray } from '@coll/core';

declare const kind: unique symbol;

/** A C++ object behind a JavaScript value, which frees it. */
export interface Held<Kind extends string> {
  readonly [kind]: Kind;
}

export type ProgramHandle = Held<'program'>;
export type OfferHandle = Held<'offer'>;
export type DealHandle = Held<'deal'>;
export type MemberHandle = Held<'member'>;
export type ControllerHandle = Held<'controller'>;

export type Pieces = readonly TypedArray[];

/** Whose output lies in whose memory. */
export type Clash = readonly [rank: number, other: number];

/**
 * What a rank asks for. `begins`: where each piece begins in the whole buffer, and its length; `sharesResult`: all outputs may be one memory; `agreed`: what
 * all ranks must have alike.
 */
export type Offering = readonly [
  program: ProgramHandle,
  rank: number,
  begins: Float64Array,
  inputs: Pieces,
  outputs: Pieces,
  sharesResult: boolean,
  agreed: Float64Array,
];
