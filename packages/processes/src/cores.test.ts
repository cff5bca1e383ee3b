import { findCores } from '@coll/native/machine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { areCores, coresTogether, ownCores } from './cores.js';

describe('the CPU cores', () => {
  it('that this process reports are valid for other processes', () => {
    expect(areCores(ownCores())).toBe(true);
    expect(coresTogether([ownCores()])).toBe(ownCores().cores);
  });

  it.each([
    [
      'the same for all',
      [
        [2, '0-1'],
        [2, '0-1'],
        [2, '0-1'],
      ],
      2,
    ],
    [
      'one for each',
      [
        [1, '0'],
        [1, '2'],
        [1, '5'],
      ],
      3,
    ],
    [
      'some in common',
      [
        [3, '0-2'],
        [2, '2,4'],
      ],
      4,
    ],
    [
      'fewer than listed if there is a quota',
      [
        [2, '0-63'],
        [2, '0-63'],
      ],
      2,
    ],
    [
      'the largest number if the system has no list',
      [
        [4, ''],
        [2, '0-1'],
      ],
      4,
    ],
    [
      'the same with a list that is longer',
      [
        [2, ''],
        [4, '0-3'],
      ],
      4,
    ],
  ] as const)('that several processes may use together are counted: %s', (_, processes, together) => {
    expect(coresTogether(processes.map(([cores, coreList]) => ({ cores, coreList })))).toBe(together);
  });

  it.each([
    { cores: 0, coreList: '0' },
    { cores: 1.5, coreList: '0' },
    { cores: 9000, coreList: '0' },
    { cores: 1 },
    { cores: 1, coreList: '0-' },
    { cores: 1, coreList: '0 ' },
    { cores: 1, coreList: '99999' },
    { cores: 1, coreList: '0-9999' },
    { cores: 1, coreList: '3-1' },
    { cores: 1, coreList: '1,'.repeat(600) },
    { cores: 1, coreList: `${'0-8191,'.repeat(120)}0` },
    { cores: 1, coreList: 7 as never },
    { cores: 8193, coreList: '0' },
    { cores: -1, coreList: '0' },
    { cores: '1' as never, coreList: '0' },
    { cores: 1, coreList: 'x0' },
    { cores: 1, coreList: '0x' },
    { cores: 1, coreList: '0-3,3-1' },
    { cores: 1, coreList: '3-2' },
    { cores: 1, coreList: '0-99999' },
    { cores: 1, coreList: '0,99999' },
    { cores: 1, coreList: '0,0-99999' },
    { cores: 1, coreList: '0-8191,0' },
    { cores: 1, coreList: `${'1,'.repeat(512)}1` },
  ])('that another process reports are refused if they cannot exist: %o', (cores) => {
    expect(areCores(cores)).toBe(false);
  });

  it.each([
    { cores: 1, coreList: '' },
    { cores: 8192, coreList: '0-8191' },
    { cores: 1, coreList: '3-3' },
    { cores: 1, coreList: '10-1234,2000,3000-3001' },
    { cores: 1, coreList: `${'1,'.repeat(511)}11` },
  ])('that another process reports are accepted if they can exist: %o', (cores) => {
    expect(areCores(cores)).toBe(true);
  });

  it('of this process are those of the machine', () => {
    const { cores, coreList } = findCores();
    expect(ownCores()).toEqual({ cores, coreList });
  });

  it('that a process with one core may use count as one, whatever list it reports', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789,-') }), (coreList) => {
        if (areCores({ cores: 1, coreList })) expect(coresTogether([{ cores: 1, coreList }])).toBe(1);
      }),
    );
  });
});
