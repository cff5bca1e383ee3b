import { spawnSync } from 'node:child_process';
import path from 'node:path';
import '@coll/direct/register';
import '@coll/reduction-to-one/register';
import '@coll/ring/register';
import { registry } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { algorithms, BadUsage, settingsFrom } from './options.mjs';

const seeHelp = '`npm start -- --help` lists them all';

describe('the command line of the training example', () => {
  it('has default values', () => {
    expect(settingsFrom([])).toEqual({
      framework: 'jax-js',
      replicas: 2,
      ops: 'direct',
      engine: 'auto',
      epochs: 6,
      batchSize: 1024,
      samples: 8192,
      seed: 1,
      json: false,
      insecure: false,
    });
  });

  it('can set every option', () => {
    const args =
      '--framework tfjs --replicas 4 --ops ring --engine js --epochs 1 --batch-size=64 --samples 640 --seed 0 --json --insecure';
    expect(settingsFrom(args.split(' '))).toEqual({
      framework: 'tfjs',
      replicas: 4,
      ops: 'ring',
      engine: 'js',
      epochs: 1,
      batchSize: 64,
      samples: 640,
      seed: 0,
      json: true,
      insecure: true,
    });
  });

  it('accepts auto and every plug-in that the example registers', () => {
    expect([...algorithms].sort()).toEqual([...registry.list().map(({ name }) => name), 'auto'].sort());
  });

  it.each(['--help', '-h'])('returns undefined instead of settings for %s', (option) => {
    expect(settingsFrom([option])).toBeUndefined();
  });

  it.each([
    ['--replicas 0', '--replicas must be a whole number of at least 1, got "0"'],
    ['--epochs some', '--epochs must be a whole number of at least 1, got "some"'],
    ['--samples 1.5', '--samples must be a whole number of at least 1, got "1.5"'],
    ['--seed -1', '--seed must be a whole number of at least 0, got "-1"'],
    ['--framework jax', '--framework must be one of jax-js, tfjs, got "jax"'],
    ['--ops rings', '--ops must be one of direct, reduction-to-one, ring, auto, got "rings"'],
    ['--engine cuda', '--engine must be one of auto, native, wasm, js, got "cuda"'],
    ['--replicas 3', '--batch-size must be a multiple of the 3 replicas, got 1024'],
    ['--samples 100', '--samples must be at least one batch of 1024, got 100'],
    ['--speed 9', `unknown option --speed; ${seeHelp}`],
    ['--epochs', '--epochs needs a value: a whole number of at least 1'],
    ['--insecure=yes', '--insecure takes no value'],
    ['ring', `"ring" is not an option; ${seeHelp}`],
  ])('refuses %s', (args, message) => {
    expect(() => settingsFrom(args.split(' '))).toThrow(new BadUsage(message));
  });
});

describe('npm start', () => {
  const start = path.join(import.meta.dirname, '../../tools/run/start.mjs');
  const run = (option: string) => spawnSync(process.execPath, [start, option], { encoding: 'utf8' });

  it('prints the options without building anything', () => {
    const { status, stdout, stderr } = run('--help');
    expect(stdout).toMatch(/^Usage: npm start -- \[options\]\n/);
    expect(stdout).toMatch(/^ {2}--replicas <n> +replicas of the model, each in a thread \(default: 2\)$/m);
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });

  it('refuses a wrong option without building anything, with code 2', () => {
    const { status, stdout, stderr } = run('--speed');
    expect(stderr).toBe(`unknown option --speed; ${seeHelp}\n`);
    expect(stdout).toBe('');
    expect(status).toBe(2);
  });
});
