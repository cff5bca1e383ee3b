import assert from 'node:assert/strict';
import type { CollError, ErrorCode } from '@coll/core';
import type { Outcome } from '../group.js';

export interface ExpectedError {
  readonly class: new (...parameters: never[]) => CollError;
  readonly code?: ErrorCode;
}

/** Fails unless a call has failed with the expected error. Returns the error. */
export function assertError(title: string, outcome: Outcome, { class: Class, code }: ExpectedError): CollError {
  const wanted = `${Class.name}${code ? ` ${code}` : ''}`;
  assert.ok(outcome, `${title} must throw ${wanted}, but nothing happened`);
  const isRight = outcome instanceof Class && (code === undefined || outcome.code === code);
  assert.ok(isRight, `${title} must throw ${wanted}, but threw ${outcome.name}: ${outcome.message}`);
  return outcome as CollError;
}
