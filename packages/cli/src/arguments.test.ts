import { availableCores } from '@coll/native/machine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseArguments } from './arguments.js';

let printed = '';
beforeEach(() => {
  printed = '';
  const collect = (text: string | Uint8Array) => {
    printed += text;
    return true;
  };
  vi.spyOn(process.stderr, 'write').mockImplementation(collect);
  vi.spyOn(process.stdout, 'write').mockImplementation(collect);
});
afterEach(() => vi.restoreAllMocks());

describe('parseArguments', () => {
  it('accepts a program without any options', () => {
    expect(parseArguments(['run', 'train.ts'])).toEqual({
      ranks: availableCores(),
      program: 'train.ts',
      args: [],
      isCommand: false,
      environment: {},
      hasPrefix: true,
      logFolder: undefined,
      graceSeconds: 5,
      timeoutSeconds: undefined,
      maxRestarts: 0,
      keyFile: undefined,
      stallSeconds: 30,
      isNested: false,
    });
  });

  it('parses the options before the program', () => {
    const options = ['-n', '3', '--env', 'A=1', '--env', 'B=x=y', '--env', 'C=', '--grace', '0', '--timeout', '1.5'];
    const flags = [
      '--stall-seconds',
      '2.5',
      '--command',
      '--no-prefix',
      '--log-dir',
      'logs',
      '--max-restarts',
      '2',
      '--key-file',
      'job.key',
      '--nested',
    ];
    expect(parseArguments(['run', ...options, ...flags, 'train'])).toEqual({
      ranks: 3,
      program: 'train',
      args: [],
      isCommand: true,
      environment: { A: '1', B: 'x=y', C: '' },
      hasPrefix: false,
      logFolder: 'logs',
      graceSeconds: 0,
      timeoutSeconds: 1.5,
      maxRestarts: 2,
      keyFile: 'job.key',
      stallSeconds: 2.5,
      isNested: true,
    });
    expect(parseArguments(['run', '--stall-seconds', '0', 'train'])).toMatchObject({ stallSeconds: undefined });
    expect(parseArguments(['run', '-n', 'auto', 'train'])).toMatchObject({ ranks: availableCores() });
  });

  it.each([
    [['train.ts', '-n', '7', '--', 'x']],
    [['train.ts', '--', '-n', '7', '--', 'x']],
    [['--', 'train.ts', '-n', '7', '--', 'x']],
  ])('passes all arguments after the program to the program, unparsed: %j', (args) => {
    expect(parseArguments(['run', '-n', '1', ...args])).toMatchObject({
      ranks: 1,
      program: 'train.ts',
      args: ['-n', '7', '--', 'x'],
    });
  });

  it.each([
    [['-n', '0', 'x'], /'0' is invalid. It must be auto, or a whole number from 1 to 1024/],
    [['-n', '1025', 'x'], /'1025' is invalid/],
    [['-n', '1.5', 'x'], /whole number/],
    [['-n', '', 'x'], /whole number/],
    [['--env', 'A', 'x'], /NAME=VALUE/],
    [['--env', '=A', 'x'], /NAME=VALUE/],
    [['--env', 'COLL_JOB_KEY=1', 'x'], /The launcher sets COLL_JOB_KEY itself/],
    [['--grace', 'soon', 'x'], /It must be a number of seconds from 0 /],
    [['--grace', '-1', 'x'], /It must be a number of seconds/],
    [['--timeout', '0', 'x'], /It must be a number of seconds/],
    [['--timeout', '1e9', 'x'], /It must be a number of seconds/],
    [['--max-restarts', '-1', 'x'], /whole number/],
    [['--unknown', 'x'], /unknown option '--unknown'/],
    [[], /missing required argument 'program'/],
  ])('refuses %j', (args, message) => {
    expect(() => parseArguments(['run', ...args])).toThrow(message);
    expect(printed).toMatch(message);
  });

  it('parses the options of the store', () => {
    const defaults = { storeHost: '127.0.0.1', port: 0, job: undefined, printsEnvironment: false };
    expect(parseArguments(['store'])).toEqual(defaults);
    const options = ['--host', 'eth0', '--port', '4000', '--job', 'train', '--print-env'];
    const parsed = { storeHost: 'eth0', port: 4000, job: 'train', printsEnvironment: true };
    expect(parseArguments(['store', ...options])).toEqual(parsed);
    for (const port of ['65536', '-1', 'any'])
      expect(() => parseArguments(['store', '--port', port])).toThrow('It must be a whole number from 0 to 65535.');
  });

  it('parses the options of doctor', () => {
    expect(parseArguments(['doctor'])).toEqual({ isJson: false, isStrict: false });
    expect(parseArguments(['doctor', '--json', '--strict'])).toEqual({ isJson: true, isStrict: true });
  });

  it('parses the options of try before and after the module, and arguments that are JSON', () => {
    const defaults = { replicas: undefined, seconds: 5, timeoutSeconds: 60, isJson: false, showsOutput: false };
    expect(parseArguments(['try', 'replica.js'])).toEqual({ replicaModule: 'replica.js', args: [], ...defaults });
    const options = ['--replicas', '4,1,2,4', '--seconds', '0.5', '--json'];
    const rest = ['text', '7', '{"epochs":[3]}', '-v', '--timeout', '9', '--', '--seconds', '"8"'];
    expect(parseArguments(['try', ...options, 'replica.js', ...rest])).toEqual({
      replicaModule: 'replica.js',
      args: ['text', 7, { epochs: [3] }, '--seconds', '8'],
      replicas: [1, 2, 4],
      seconds: 0.5,
      timeoutSeconds: 9,
      isJson: true,
      showsOutput: true,
    });
  });

  it.each(['0', '1,', '1,x', '1.5', '1025'])('refuses the numbers of replicas %j', (replicas) => {
    expect(() => parseArguments(['try', 'replica.js', '--replicas', replicas])).toThrow(
      'It must be a list of whole numbers from 1 to 1024, such as 1,2,4.',
    );
  });

  it('names the launchers for several hosts in the help of run', () => {
    expect(() => parseArguments(['run', '--help'])).toThrow(expect.objectContaining({ exitCode: 0 }));
    for (const text of ['mpirun -n 4', 'srun --mpi=pmi2', 'COLL_SERVICE', 'coll store --print-env'])
      expect(printed).toContain(text);
  });

  it('prints its version', () => {
    expect(() => parseArguments(['--version'])).toThrow(expect.objectContaining({ exitCode: 0 }));
    expect(printed).toMatch(/^\d+\.\d+\.\d+.*\n$/);
  });

  it.each([[[]], [['start', 'x']]])('refuses any unknown command: %j', (args) => {
    expect(() => parseArguments(args)).toThrow();
    expect(printed).not.toBe('');
  });
});
