import type { DType } from '../values/dtype.js';
import { type Collective, isSameCollective, nameOf } from './collective.js';

/** What collectives are for where their caller asked for something else. */
export const purposes = ['itself', 'gather', 'sparse', 'measure', 'barrier', 'split'] as const;

/** What a caller asked for, of which a collective is a part: ranks compare both, and messages tell of this one. */
export interface CallerRequest {
  readonly collective: Collective;
  readonly dtype: DType;
  /** Of the whole buffer, in elements; where values are gathered or sparse, how many there are. */
  readonly length: number;
  /** To join values, to reduce sparse ones, to measure the links, to wait for all ranks, or to split a group. Default: the collective itself. */
  readonly purpose?: (typeof purposes)[number];
  /** Where links are measured, what that is for, of which ranks need not agree. */
  readonly measuredFor?: Collective | undefined;
  /** By rank of the group that plays the part, which ranks of the caller's it stands for, such as `2, 3`. Default: itself. */
  readonly ranks?: readonly string[] | undefined;
}

/** A collective, and the request of the caller that it is a part of. */
export interface AskedCall {
  readonly collective: Collective;
  readonly request?: CallerRequest | undefined;
}

/** What messages call a collective, or what it is a part of. */
export function operationOf({ collective, request }: AskedCall): string {
  if (request?.purpose === 'measure') {
    return `measure the links${request.measuredFor ? ` for ${nameOf(request.measuredFor)}` : ''}`;
  }
  if (request?.purpose === 'barrier' || request?.purpose === 'split') return request.purpose;
  // Which op sparse values are reduced by is said in what they exchange first.
  return request?.purpose === 'sparse' ? request.collective.kind : nameOf(request?.collective ?? collective);
}

/** Whether two calls are parts of the same request, or of none. */
export function isSameRequest(one: CallerRequest | undefined, other: CallerRequest | undefined): boolean {
  if (one === other) return true;
  if (!one || !other || one.dtype !== other.dtype || one.length !== other.length) return false;
  const { collective, purpose, ranks } = one;
  return purpose === other.purpose && ranks === other.ranks && isSameCollective(collective, other.collective);
}
