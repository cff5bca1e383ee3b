import assert from 'node:assert/strict';
import type { ErrorCode } from '@coll/core';

type ErrorClass = new (...parameters: never[]) => Error;

/**
 * Fails unless a promise is rejected with an error of this class and, if given, this code; returns
 * the error.
 */
export async function assertRejects(
  title: string,
  promise: Promise<unknown>,
  Class: ErrorClass,
  code?: ErrorCode,
): Promise<Error & { readonly rank?: number }> {
  const wanted = `${Class.name}${code ? ` ${code}` : ''}`;
  const error = await promise.then(
    () => assert.fail(`${title} must be rejected with ${wanted}, but succeeded`),
    (reason: unknown) => reason,
  );
  const isRight = error instanceof Class && (code === undefined || (error as { code?: unknown }).code === code);
  if (error instanceof assert.AssertionError) throw error;
  assert.ok(isRight, `${title} must be rejected with ${wanted}, but was with ${error}`);
  return error;
}
