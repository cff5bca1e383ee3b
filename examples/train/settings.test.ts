import '@coll/direct/register';
import '@coll/ring/register';
import { CommanderError } from 'commander';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { settingsFrom } from './settings.ts';

describe('the settings of a command line', () => {
  let stderr: MockInstance<typeof process.stderr.write>;

  beforeEach(() => {
    stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  });

  afterEach(() => {
    stderr.mockRestore();
  });

  it('have defaults', () => {
    expect(settingsFrom([])).toEqual({
      replicas: 2,
      ops: 'direct',
      engine: 'auto',
      epochs: 6,
      batchSize: 256,
      samples: 6000,
      seed: 1,
      insecure: false,
    });
  });

  it('are taken from options', () => {
    const args = '--replicas 4 --ops ring --engine js --epochs 1 --batch-size 64 --samples 640 --seed 0'.split(' ');
    expect(settingsFrom(args)).toEqual({
      replicas: 4,
      ops: 'ring',
      engine: 'js',
      epochs: 1,
      batchSize: 64,
      samples: 640,
      seed: 0,
      insecure: false,
    });
  });

  it.each([
    ['--replicas 0', "error: option '--replicas <n>' argument '0' is invalid. It must be a whole number from 1."],
    ['--epochs some', "error: option '--epochs <n>' argument 'some' is invalid. It must be a whole number from 1."],
    ['--samples 1.5', "error: option '--samples <n>' argument '1.5' is invalid. It must be a whole number from 1."],
    ['--seed -1', "error: option '--seed <n>' argument '-1' is invalid. It must be a whole number from 0."],
    [
      '--ops rings',
      "error: option '--ops <name>' argument 'rings' is invalid. Allowed choices are direct, ring, auto.",
    ],
    [
      '--engine cuda',
      "error: option '--engine <name>' argument 'cuda' is invalid. Allowed choices are auto, native, wasm, js.",
    ],
    ['--replicas 3', 'error: --batch-size 256 cannot be split evenly among 3 replicas'],
    ['--samples 100', 'error: --samples 100 is less than one batch of 256'],
    ['--speed 9', "error: unknown option '--speed'"],
    ['--epochs', "error: option '--epochs <n>' argument missing"],
    ['ring', 'error: too many arguments. Expected 0 arguments but got 1.'],
  ])('%s: refused in one line', (args, line) => {
    expect(() => settingsFrom(args.split(' '))).toThrow(CommanderError);
    expect(stderr.mock.calls.map(([text]) => text)).toEqual([`${line}\n`]);
  });
});
