import { expect, it } from 'vitest';
import { callArrays, isAllocationAlone } from '../src/subjects/call-arrays.js';
import { type CallMemory, callMemory, type Place } from '../src/trial.js';

const known = [Float32Array.of(1, 2), Float32Array.of(3)];

/** Two calls, one after the other. */
function calls(memory: CallMemory, place: Place) {
  const arraysOf = callArrays(memory, place, known, (value) => value.slice());
  return [arraysOf(), arraysOf()] as const;
}

it.each(['known', 'result'] as const)('calls on %s memory get the same inputs every time', (memory) => {
  for (const { inputs } of calls(memory, 'in')) expect(inputs).toBe(known);
});

it('results go into the input in place, and into one other array out of place', () => {
  for (const { into } of calls('known', 'in')) expect(into).toBe(known);
  const [first, second] = calls('known', 'out');
  expect(first.into).toEqual(known);
  expect(first.into?.[0]).not.toBe(known[0]);
  expect(second.into).toBe(first.into);
});

it('calls on new memory get arrays that no other call has', () => {
  for (const [memory, place, field] of [
    ['new', 'in', 'inputs'],
    ['new', 'out', 'into'],
    ['both', 'in', 'inputs'],
    ['alone', 'in', 'inputs'],
    ['both-alone', 'in', 'inputs'],
    ['both-alone', 'in', 'into'],
  ] as const) {
    const [first, second] = calls(memory, place).map((arrays) => arrays[field]);
    expect(first).toEqual(known);
    expect(new Set([...known, ...(first ?? []), ...(second ?? [])]).size).toBe(3 * known.length);
  }
});

it('calls on new memory write into it in place, and read the known array out of place', () => {
  for (const { inputs, into } of calls('new', 'in')) expect(into).toBe(inputs);
  for (const { inputs } of calls('new', 'out')) expect(inputs).toBe(known);
});

it('calls without `into` are those for a new result', () => {
  const without = callMemory.filter((memory) => !isAllocationAlone(memory) && !calls(memory, 'in')[0].into);
  expect(without).toEqual(['result', 'both']);
});
