import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { LogFields } from '@coll/core';
import { expect, it } from 'vitest';
import { runWorkers } from './worker-processes.js';

type Line = LogFields & { readonly level: string; readonly message: string };

const linesOf = (stderr: string): Line[] =>
  stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line.replace(/^\[\d+\] /, '')));
const eventsOf = (lines: readonly Line[], part: string) => lines.filter(({ event }) => event?.startsWith(part));

async function stderrOf(mode: string, variables: NodeJS.ProcessEnv): Promise<string> {
  const program = fileURLToPath(new URL('./fixtures/logging.ts', import.meta.url));
  const child = spawn(process.execPath, [program, mode], {
    env: { ...process.env, TF_CONFIG: undefined, ...variables },
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  return stderr;
}

it.each([
  ['one thread', 'here', { collectives: undefined }],
  ['threads', 'threads', { collectives: 2, bytesPerMember: 16 }],
])(
  'a MirroredStrategy with replicas in %s logs one line when it opens and one at its end',
  async (place, mode, done) => {
    const lines = linesOf(await stderrOf(mode, { COLL_LOG: 'info', COLL_LOG_FORMAT: 'json' }));
    const own = eventsOf(lines, 'strategy');
    expect(own.map(({ level, event, host }) => [level, event, host])).toEqual([
      ['info', 'strategy opened', hostname()],
      ['info', 'strategy closed', hostname()],
    ]);
    expect(own[0]?.data).toMatchObject({
      strategy: 'MirroredStrategy',
      replicas: 2,
      replicasIn: place,
      engine: 'native',
      simd: expect.any(String),
      coresPerReplica: expect.any(Number),
    });
    expect(own[0]?.message).toMatch(
      /^strategy opened: MirroredStrategy; 2 replicas in (one thread|threads); devices .*; ops [\w-]+; engine native with \w+; [\d.]+ cores? per replica$/,
    );
    expect({ collectives: undefined, ...own[1]?.data }).toMatchObject({
      strategy: 'MirroredStrategy',
      replicas: 2,
      seconds: expect.any(Number),
      ...done,
    });
  },
);

it.each(['here', 'threads'])('a MirroredStrategy logs nothing by default: %s', async (mode) => {
  expect(await stderrOf(mode, {})).toBe('');
});

it.each([
  ['one thread', 'here'],
  ['threads', 'threads'],
])('worker 0 of a MultiWorkerMirroredStrategy with replicas in %s logs its lines', async (place, mode) => {
  const ends = await runWorkers('logging.js', 2, [mode], undefined, { COLL_LOG: 'info', COLL_LOG_FORMAT: 'json' });
  expect(ends).toEqual([0, 1].map(() => expect.objectContaining({ code: 0 })));
  const [first, second] = ends.map(({ stderr }) => linesOf(stderr)) as [Line[], Line[]];
  expect(eventsOf(second, 'strategy')).toEqual([]);
  expect(eventsOf(second, 'group')).toEqual([]);
  const own = eventsOf(first, 'strategy');
  expect(own.map(({ level, event, worker }) => [level, event, worker])).toEqual([
    ['info', 'strategy opened', 0],
    ['info', 'strategy closed', 0],
  ]);
  expect(own[0]?.data).toMatchObject({
    strategy: 'MultiWorkerMirroredStrategy',
    replicas: 4,
    replicasIn: place,
    ops: 'collective',
    engine: 'native',
    workers: { count: 2, hosts: [hostname(), hostname()], transport: 'shared-memory' },
  });
  expect(own[1]?.data?.['collectives']).toBeGreaterThan(0);
});
