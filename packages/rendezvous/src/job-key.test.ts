import { describe, expect, it } from 'vitest';
import { newJobKey, requireJob, requireJobKey } from './job-key.js';

it('requireJob accepts a job name of up to 512 bytes', () => {
  expect(() => requireJob('ü'.repeat(256))).not.toThrow();
  expect(() => requireJob(`${'ü'.repeat(256)}x`)).toThrow('job must be a string of at most 512 bytes');
});

describe('a job key', () => {
  it.each([
    ['what newJobKey returns', newJobKey()],
    ['32 hexadecimal digits', '00112233445566778899AABBCCDDEEFF'],
    ['22 characters of base64url', 'abcdefghijklmnopqrst-_'],
    ['base64 with padding', 'AbCdEfGhIjKlMnOpQrStU+/=='],
  ])('is accepted if it is %s', (_, jobKey) => {
    expect(() => requireJobKey(jobKey)).not.toThrow();
  });

  it.each<[string, unknown, string]>([
    ['is missing', undefined, 'got none:'],
    ['is a number', 7, 'got a value of type number:'],
    ['is empty', '', 'got a text with other characters:'],
    ['is a password', 'password12345678', 'got 16 characters, 15 different:'],
    ['is too short', 'abcdefghijklmnopqrst-', 'got 21 characters, 21 different:'],
    ['is short without its padding', 'abcdefghijklmnopqrstu==', 'got 21 characters, 21 different:'],
    ['repeats few characters', 'ghijklmnopq'.repeat(3), 'got 33 characters, 11 different:'],
    ['has 31 hexadecimal digits', '0112233445566778899aabbccddeeff', 'got 31 hexadecimal digits, 16 different:'],
    ['repeats few digits', 'aA012'.repeat(8), 'got 40 hexadecimal digits, 4 different:'],
    ['is a sentence', 'a secret of many different letters', 'got a text with white space:'],
    ['ends with a line break', `${newJobKey()}\n`, 'got a text with white space:'],
    ['mixes base64 and base64url', 'abcdefghijklmnopqrst-/', 'got a text with other characters:'],
  ])('is refused if it %s', (_, jobKey, got) => {
    expect(() => requireJobKey(jobKey)).toThrow(got);
    expect(() => requireJobKey(jobKey)).toThrow('`npx coll key`');
  });

  it('is not part of the message that refuses it', () => {
    expect(() => requireJobKey('hunter2')).toThrow(expect.not.stringContaining('hunter2'));
  });
});
