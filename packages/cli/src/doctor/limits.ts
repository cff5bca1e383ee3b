import { availableCores, findHostLimits, type HostLimits } from '@coll/native/machine';
import { type Check, type Line, unknown } from './line.js';

/** Limits of this process and settings of the system. */
export const limitsCheck: Check = {
  name: 'open files',
  examine: () => limitsLines(findHostLimits(), availableCores()),
};

/** @param cores the ranks that `coll run` starts by default */
export function limitsLines(limits: HostLimits, cores: number): readonly Line[] {
  const { hugePages, sharedHugePages } = limits;
  const forShared = sharedHugePages ?? unknown;
  const text = hugePages === undefined ? unknown : `${hugePages}; for shared memory ${forShared}`;
  return [{ name: 'huge pages', text, data: { hugePages, sharedHugePages } }, openFilesLine(limits.openFiles, cores)];
}

/** `coll run` opens three files per rank, and about 25 others. A rank opens fewer. */
const filesOfLauncher = 40;
const filesPerRank = 3;
/** `coll run` starts no more. */
const mostRanks = 1024;

function openFilesLine(openFiles: string | undefined, cores: number): Line {
  const name = 'open files';
  if (openFiles === undefined) return { name, text: unknown };
  const limit = openFiles === 'unlimited' ? Infinity : Number(openFiles);
  const ranks = Math.max(0, Math.min(mostRanks, Math.floor((limit - filesOfLauncher) / filesPerRank)));
  const line = { name, text: `${openFiles}, enough for ${ranks} ranks on this host`, data: { openFiles, ranks } };
  if (ranks >= cores) return { ...line, verdict: 'ok' };
  return {
    ...line,
    verdict: 'broken',
    text: `${openFiles}, too few for one rank per core (${cores})`,
    cure: 'ulimit -n 4096 (Docker: --ulimit nofile=4096; systemd: LimitNOFILE=4096)',
  };
}
