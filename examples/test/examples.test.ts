import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { native } from '@coll/native';
import { describe, expect, it } from 'vitest';

const folder = path.join(import.meta.dirname, '..');

/** The lines that an example prints, with a blank one at the end. It fails where the example does, or complains. */
async function run(example: string): Promise<string[]> {
  const args = ['--conditions=@coll/source', '--import', 'tsx', path.join(folder, example)];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  expect(stderr).toBe('');
  return stdout.split('\n');
}

const isNative = native.probe().available;

describe('the example', { timeout: 60_000 }, () => {
  it('reduce.ts adds up', async () => {
    expect(await run('reduce.ts')).toEqual(['cpu:0 4 6', 'cpu:1 4 6', '']);
  });

  it('choose-a-backend.ts names the backends and what is missing', async () => {
    const engine = isNative ? 'native' : 'wasm';
    expect(await run('choose-a-backend.ts')).toEqual([
      `direct on the ${engine} engine, of: direct (priority 60), ring (priority 40), reduction-to-one (priority 10)`,
      `ring on the ${engine} engine, of: ring (priority 40)`,
      `ring on the ${engine} engine, of: ring (priority 40)`,
      expect.stringMatching(/^ERR_COLL_UNKNOWN_PLUGIN: .*npm install @coll\/nccl/),
      '',
    ]);
  });

  it('choose-an-engine.ts names the engines and what is missing', async () => {
    const [auto, wasm, js, direct, end] = await run('choose-an-engine.ts');
    expect([wasm, js, end]).toEqual(['wasm: wasm', 'js: js', '']);
    if (isNative) expect([auto, direct]).toEqual(['auto: native', 'direct: native']);
    else {
      expect(auto).toMatch(/^auto: wasm, because native is /);
      expect(direct).toMatch(/^direct: ERR_COLL_NO_ENGINE: /);
    }
  });

  it('write-an-algorithm draws its tree, prices it, and adds up in one thread and in four', async () => {
    expect(await run('write-an-algorithm/main.ts')).toEqual([
      'round 0 | 1 -(0)+> 0   3 -(0)+> 2',
      'round 1 | 2 -(0)+> 0',
      'round 2 | 0 -(0)-> 2',
      'round 3 | 0 -(0)-> 1   2 -(0)-> 3',
      '4 rounds, about 4.4 ms for 1 MiB at 10 microseconds and 1 GB/s',
      'in one thread: 6, 6, 6, 6',
      'in four threads: 6, 6, 6, 6',
      '',
    ]);
  });
});
