import { type Algorithm, type Collective, type CollectiveKind, collectiveKinds } from '@coll/core';
import { cost, draw } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';

const algorithms: readonly Algorithm[] = [ringAlgorithm(), directAlgorithm, reductionToOneAlgorithm()];

const groups = [2, 4, 8, 64];

// A buffer that every group's chunks divide evenly, so that shares of it come out as fractions without remainders.
const bytes = 64 * 64;

/** The page docs/algorithms.md: what each shipped algorithm costs, and how it looks, taken from the schedules themselves. */
export function algorithmsPage(): string {
  return [
    '# Algorithms in numbers',
    '',
    'Made from the schedules by `npm run algorithms -w @coll/docs`; the tests compare. S is the whole buffer: for all-gather and reduce-scatter the',
    'blocks of all ranks. *Bytes a rank* is the most that any rank sends, *busiest link* the most that goes from one rank to another.',
    '',
    ...collectiveKinds.flatMap(tableOf),
    '## Pictures',
    '',
    'All-reduce among four ranks: `0 -(2)+> 1` sends chunk 2 from rank 0 to rank 1, where it is combined; `->` copies.',
    '',
    ...algorithms.flatMap(({ name, plan }) => [
      `### ${name}`,
      '',
      '```',
      draw(plan(collectiveOf('all-reduce'), 4)),
      '```',
      '',
    ]),
  ].join('\n');
}

function tableOf(kind: CollectiveKind): string[] {
  const rows = algorithms.flatMap((algorithm) => groups.map((ranks) => rowOf(algorithm, kind, ranks)));
  return [
    `## ${kind}`,
    '',
    '| algorithm | ranks | rounds | bytes a rank | busiest link |',
    '|---|---:|---:|---:|---:|',
    ...rows,
    '',
  ];
}

function rowOf(algorithm: Algorithm, kind: CollectiveKind, ranks: number): string {
  const schedule = algorithm.plan(collectiveOf(kind), ranks);
  const { rounds, bytesPerRank, busiestLink } = cost(schedule, { kind, bytes, alpha: 0, beta: 0, gamma: 0 });
  return `| ${algorithm.name} | ${ranks} | ${rounds} | ${share(bytesPerRank)} | ${share(busiestLink?.bytes ?? 0)} |`;
}

function share(count: number): string {
  return `${Number((count / bytes).toFixed(3))} S`;
}

function collectiveOf(kind: CollectiveKind): Collective {
  if (kind === 'all-gather') return { kind };
  if (kind === 'broadcast') return { kind, root: 0 };
  return kind === 'reduce' ? { kind, op: 'sum', root: 0 } : { kind, op: 'sum' };
}
