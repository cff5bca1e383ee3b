import { expect, it } from 'vitest';
import { limitsLines } from './limits.js';

const limits = { ptraceScope: 0, hugePages: 'madvise', sharedHugePages: 'never', openFiles: '1024' };

it('reports huge pages, and for how many ranks the open files suffice', () => {
  expect(limitsLines(limits, 8)).toEqual([
    {
      name: 'huge pages',
      text: 'madvise; for shared memory never',
      data: { hugePages: 'madvise', sharedHugePages: 'never' },
    },
    {
      name: 'open files',
      verdict: 'ok',
      text: '1024, enough for 328 ranks on this host',
      data: { openFiles: '1024', ranks: 328 },
    },
  ]);
});

it.each([
  ['unlimited', 1024],
  ['1048576', 1024],
  ['64', 8],
])('a limit of %s suffices for %i ranks', (openFiles, ranks) => {
  expect(limitsLines({ ...limits, openFiles }, 8)[1]).toMatchObject({ verdict: 'ok', data: { ranks } });
});

it.each(['10', '63'])('a limit of %s is broken on 8 cores', (openFiles) => {
  expect(limitsLines({ ...limits, openFiles }, 8)[1]).toMatchObject({
    verdict: 'broken',
    text: `${openFiles}, too few for one rank per core (8)`,
    cure: 'ulimit -n 4096 (Docker: --ulimit nofile=4096; systemd: LimitNOFILE=4096)',
  });
});

it('names what the system does not report', () => {
  const nothing = { ptraceScope: undefined, hugePages: undefined, sharedHugePages: undefined, openFiles: undefined };
  expect(limitsLines(nothing, 8).map(({ text, verdict }) => [text, verdict])).toEqual(
    Array(2).fill(['not reported by this system', undefined]),
  );
});
