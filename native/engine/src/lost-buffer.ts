import { ValueError } from '@coll/core';

/** For memory that its owner gave away while a collective was under way. */
export function lostBuffer(operation: string, rank: number): ValueError {
  const told = `${operation}: a buffer of rank ${rank} was detached or resized while it was in use; keep it until the call has ended`;
  return new ValueError('ERR_COLL_BUFFER', told, { operation, rank });
}
