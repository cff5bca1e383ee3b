import { describe, expect, it } from 'vitest';
import { requireJob, requireJobKey } from './job-key.js';

it('requireJob accepts a job name of up to 512 bytes', () => {
  expect(() => requireJob('ü'.repeat(256))).not.toThrow();
  expect(() => requireJob(`${'ü'.repeat(256)}x`)).toThrow('job must be a string of at most 512 bytes');
});

describe('a job key', () => {
  it('is accepted if it has at least 16 bytes, 8 of them different', () => {
    expect(() => requireJobKey('abcdefghabcdefgh')).not.toThrow();
  });

  it.each<[string, unknown, string]>([
    ['is missing', undefined, 'got none;'],
    ['is a number', 7, 'got a number;'],
    ['is too short', 'abcdefghabcdefg', 'got 15 bytes, 8 different;'],
    ['has too few different bytes', 'abcdefgabcdefgabcdefg', 'got 21 bytes, 7 different;'],
  ])('is refused if it %s', (_, jobKey, got) => {
    expect(() => requireJobKey(jobKey)).toThrow(got);
  });
});
