import { describe, expect, it } from 'vitest';
import { type CallerRequest, isSameRequest, operationOf } from './caller-request.js';

const collective = { kind: 'all-reduce', op: 'sum' } as const;
const request: CallerRequest = { collective: { kind: 'reduce', op: 'max', root: 1 }, dtype: 'float32', length: 4 };

describe('operationOf', () => {
  it('names the collective if there is no caller request', () => {
    expect(operationOf({ collective })).toBe('all-reduce sum');
  });

  it('names the collective that the caller requested, not the one that implements the request', () => {
    expect(operationOf({ collective, request })).toBe('reduce max to rank 1');
    expect(operationOf({ collective, request: { ...request, purpose: 'gather' } })).toBe('reduce max to rank 1');
  });

  it('names only the kind of a collective of sparse values, without the op', () => {
    expect(operationOf({ collective, request: { ...request, purpose: 'sparse' } })).toBe('reduce');
  });

  it('names a measurement of links, and the collective that it is for', () => {
    const measure: CallerRequest = { ...request, purpose: 'measure' };
    expect(operationOf({ collective, request: measure })).toBe('measure the links');
    expect(operationOf({ collective, request: { ...measure, measuredFor: collective } })).toBe(
      'measure the links for all-reduce sum',
    );
  });
});

describe('isSameRequest', () => {
  const ranks = ['0, 1', '2, 3'];
  const whole: CallerRequest = { ...request, purpose: 'gather', ranks };

  it('is true for equal requests, and for two missing requests', () => {
    expect(isSameRequest(undefined, undefined)).toBe(true);
    expect(isSameRequest(whole, whole)).toBe(true);
    expect(isSameRequest(whole, { ...whole, collective: { ...whole.collective } })).toBe(true);
  });

  it('is false if only one request is given', () => {
    expect([isSameRequest(whole, undefined), isSameRequest(undefined, whole)]).toEqual([false, false]);
  });

  it.each<[string, Partial<CallerRequest>]>([
    ['collective', { collective }],
    ['dtype', { dtype: 'int32' }],
    ['length', { length: 5 }],
    ['purpose', { purpose: 'sparse' }],
    ['ranks', { ranks: undefined }],
  ])('is false for requests that differ in %s', (_, other) => {
    expect(isSameRequest(whole, { ...whole, ...other })).toBe(false);
  });
});
